import type { CommandOf, WeightsCommand } from '../protocol/weights-command.ts';
import type { ImportedFile, WeightsOverview, WeightsReplies } from '../protocol/weights-messages.ts';
import { askEngine } from './ask-engine.ts';
import { loadChunk } from './load-chunk.ts';
import { eitherSignal } from './either-signal.ts';
import type { ElectionMember } from './election/election-member.ts';
import type { ExportedFile } from './model-files.ts';

/**
 * The stored weights of all models. `target` is a model's id, for the variant chosen for it, or a variant's name.
 * Every call throws LocaltextError.
 */
export class Weights {
  readonly #leader: ElectionMember;
  readonly #url: string;
  readonly #stopped: AbortSignal;

  /** @param url of the scope, below which the service worker answers with stored files */
  constructor(leader: ElectionMember, url: string, stopped: AbortSignal) {
    this.#leader = leader;
    this.#url = url;
    this.#stopped = stopped;
  }

  /** Lists every variant of the catalog, what of it is stored, and how much the browser allows. */
  async list(): Promise<WeightsOverview> {
    return (await this.#ask({ type: 'list' })).store;
  }

  /** Deletes what is stored of it; refused while requests run on it. Files that another variant needs stay. */
  async delete(target: string): Promise<void> {
    await this.#ask({ type: 'delete', target });
  }

  /**
   * Holds a download that is under way; callers keep waiting. The engine forgets it when it ends: where another tab takes over,
   * the download goes on for those who wait.
   */
  async pause(target: string): Promise<void> {
    await this.#ask({ type: 'pause', target });
  }

  async resume(target: string): Promise<void> {
    await this.#ask({ type: 'resume', target });
  }

  /**
   * Cancels a download for everyone who waits for it, and deletes the partial file. To keep it, abort the signal of `ready()`,
   * or call the store's `cancel()`.
   */
  async cancel(target: string): Promise<void> {
    await this.#ask({ type: 'cancel', target });
  }

  /** The files of a model that is stored whole, its description first: all that `import()` needs elsewhere. */
  async export(target: string): Promise<ExportedFile[]> {
    const { description } = await this.#ask({ type: 'describe', target });
    return (await loadChunk(import('./model-files.ts'))).exportedFiles(description, this.#url);
  }

  /**
   * Takes a model's files, in any order and also a few at a time; each is held to its hash. Files of no model here
   * are refused by name, after all others have been taken.
   */
  async import(
    files: Iterable<File>,
    options: { onFile?: (file: ImportedFile) => void; signal?: AbortSignal } = {},
  ): Promise<void> {
    const { importFiles } = await loadChunk(import('./model-files.ts'));
    const signal = eitherSignal(this.#stopped, options.signal);
    const take = (file: File) => this.#ask({ type: 'import', name: file.name, blob: file }, signal);
    await importFiles(files, async (file) => (await take(file)).imported, options.onFile);
  }

  #ask<T extends WeightsCommand['type']>(
    command: CommandOf<T>,
    signal = this.#stopped,
  ): Promise<WeightsReplies[T]> {
    return askEngine(this.#leader, command, signal);
  }
}
