import type { ImportedFile, WeightsOverview } from '../protocol/weights-messages.ts';
import type { RunCommand } from './engine-commands.ts';
import { loadChunk } from './load-chunk.ts';
import type { ExportedFile } from './model-files.ts';

/**
 * The stored weights of all models. `target` is a model's id, for the variant chosen for it, or a variant's name.
 * Every call throws LocaltextError.
 */
export class Weights {
  readonly #url: string;
  readonly #run: RunCommand;

  /** @param url of the scope, below which the service worker answers with stored files */
  constructor(url: string, run: RunCommand) {
    this.#url = url;
    this.#run = run;
  }

  /** Lists every variant of the catalog, what of it is stored, and how much the browser allows. */
  async list(): Promise<WeightsOverview> {
    return this.#run({ type: 'list' });
  }

  /** Deletes what is stored of it; refused while requests run on it. Files that another variant needs stay. */
  async delete(target: string): Promise<void> {
    await this.#run({ type: 'delete', target });
  }

  /**
   * Holds a download that is under way; callers keep waiting. The engine forgets it when it ends: where another tab takes over,
   * the download goes on for those who wait.
   */
  async pause(target: string): Promise<void> {
    await this.#run({ type: 'pause', target });
  }

  async resume(target: string): Promise<void> {
    await this.#run({ type: 'resume', target });
  }

  /**
   * Cancels a download for everyone who waits for it, and deletes the partial file. To keep it, abort the signal of `ready()`,
   * or call the store's `cancel()`.
   */
  async cancel(target: string): Promise<void> {
    await this.#run({ type: 'cancel', target });
  }

  /** The files of a model that is stored whole, its description first: all that `import()` needs elsewhere. */
  async export(target: string): Promise<ExportedFile[]> {
    const description = await this.#run({ type: 'describe', target });
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
    const { signal, onFile } = options;
    const take = (file: File) => this.#run({ type: 'import', name: file.name, blob: file }, { signal });
    await importFiles(files, take, onFile);
  }
}
