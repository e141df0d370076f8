import type { ImportedFile, WeightsOverview } from '#protocol';
import type { RunCommand } from './engine-commands.ts';
import { loadChunk } from './load-chunk.ts';
import type { ExportedFile } from './model-files.ts';
import { requestPersistence } from './persist.ts';

/**
 * The stored weights of all models. `target` is a model's id, for the variant chosen for it, or a variant's
 * name. Every call throws LocaltextError.
 */
export class Weights {
  readonly #url: string;
  readonly #run: RunCommand;

  /** @param url of the scope, below which the service worker answers with stored files */
  constructor(url: string, run: RunCommand) {
    this.#url = url;
    this.#run = run;
  }

  /** Lists every variant of the catalog, how much of it is stored, and how much the browser allows. */
  async list(): Promise<WeightsOverview> {
    return this.#run({ type: 'list' });
  }

  /**
   * Deletes the stored files of a target; refused while requests run on it. Files that another variant needs
   * stay.
   */
  async delete(target: string): Promise<void> {
    await this.#run({ type: 'delete', target });
  }

  /**
   * Pauses a running download; callers keep waiting. The pause ends with the engine: if another tab takes
   * over, the download continues for the waiting callers.
   */
  async pause(target: string): Promise<void> {
    await this.#run({ type: 'pause', target });
  }

  async resume(target: string): Promise<void> {
    await this.#run({ type: 'resume', target });
  }

  /**
   * Cancels a download for all callers, and deletes the partial file. To keep it, abort the signal of
   * `ready()`, or call the store's `cancel()`.
   */
  async cancel(target: string): Promise<void> {
    await this.#run({ type: 'cancel', target });
  }

  /**
   * Returns the files of a completely stored model, its description first: all that `import()` requires
   * elsewhere.
   */
  async export(target: string): Promise<ExportedFile[]> {
    const description = await this.#run({ type: 'describe', target });
    return (await loadChunk(import('./model-files.ts'))).exportedFiles(description, this.#url);
  }

  /**
   * Imports a model's files, in any order and in any number of calls; each must have the right hash. Files
   * that belong to no model here are refused by name, after all others have been imported.
   */
  async import(
    files: Iterable<File>,
    options: { onFile?: (file: ImportedFile) => void; signal?: AbortSignal } = {},
  ): Promise<void> {
    requestPersistence();
    const { importFiles } = await loadChunk(import('./model-files.ts'));
    const { signal, onFile } = options;
    const take = (file: File) => this.#run({ type: 'import', name: file.name, blob: file }, { signal });
    await importFiles(files, take, onFile);
  }
}
