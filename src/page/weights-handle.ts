import type { WeightsCommand } from '../protocol/weights-command.ts';
import type { ImportedFile, WeightsOverview, WeightsReply } from '../protocol/weights-messages.ts';
import { postWeights } from './engine-access.ts';
import type { ExportedFile } from './model-files.ts';

/**
 * The stored weights of all models. `target` is a model's id, for the variant chosen for it, or a variant's name.
 * Every call throws LocaltextError.
 */
export class Weights {
  readonly #scope: string;
  readonly #stopped: AbortSignal;

  constructor(scope: string, stopped: AbortSignal) {
    this.#scope = scope;
    this.#stopped = stopped;
  }

  /** Every variant of the catalog, what of it is stored, and how much the browser allows. */
  async list(): Promise<WeightsOverview> {
    const reply = await this.#ask({ type: 'list' });
    return (reply as Extract<WeightsReply, { type: 'list' }>).store;
  }

  /** Deletes what is stored of it; refused while requests run on it. Files that another variant needs stay. */
  async delete(target: string): Promise<void> {
    await this.#ask({ type: 'delete', target });
  }

  /** Holds a download that is under way; callers keep waiting. */
  async pause(target: string): Promise<void> {
    await this.#ask({ type: 'pause', target });
  }

  async resume(target: string): Promise<void> {
    await this.#ask({ type: 'resume', target });
  }

  /** Cancels a download for everyone who waits for it, and deletes the partial file. */
  async cancel(target: string): Promise<void> {
    await this.#ask({ type: 'cancel', target });
  }

  /** The files of a model that is stored whole, its description first: all that `import()` needs elsewhere. */
  async export(target: string): Promise<ExportedFile[]> {
    const reply = await this.#ask({ type: 'describe', target });
    return (await import('./model-files.ts')).exportedFiles(reply, this.#scope);
  }

  /**
   * Takes a model's files, in any order and also a few at a time; each is held to its hash. Files of no model here
   * are refused by name, after all others have been taken.
   */
  async import(
    files: Iterable<File>,
    options: { onFile?: (file: ImportedFile) => void; signal?: AbortSignal } = {},
  ): Promise<void> {
    const { importFiles } = await import('./model-files.ts');
    await importFiles(files, (query, file) => this.#post(query, file, options.signal), options.onFile);
  }

  #ask(command: WeightsCommand): Promise<WeightsReply> {
    return this.#post('', JSON.stringify(command));
  }

  /** In its own chunk: most pages never ask. */
  async #post(query: string, body: string | File, given?: AbortSignal): Promise<WeightsReply> {
    const signal = given ? AbortSignal.any([given, this.#stopped]) : this.#stopped;
    return postWeights(query, body, signal);
  }
}
