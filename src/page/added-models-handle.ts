import type { AddedModel } from '#catalog';
import type { HubOffer, ModelDetails } from '#protocol';
import type { AddOptions, AddSource } from './added-models.ts';
import type { RunCommand } from './engine-commands.ts';
import { loadChunk } from './load-chunk.ts';
import { requestPersistence } from './persist.ts';

/**
 * Models that the user adds to those of the catalog. They answer in every tab, offline too, until they are
 * removed. Every call throws LocaltextError.
 */
export class AddedModels {
  readonly #scope: string;
  readonly #run: RunCommand;

  constructor(scope: string, run: RunCommand) {
    this.#scope = scope;
    this.#run = run;
  }

  /** Lists the added models only, the oldest first. `GET /v1/models` also lists the models of the catalog. */
  async list(): Promise<AddedModel[]> {
    return (await this.#module()).listModels(this.#scope);
  }

  /**
   * Lists the models in GGUF of a repository of the model hub (`owner/name`), the smallest first, at the current
   * commit of `main`.
   */
  async offers(repository: string, options?: Pick<AddOptions, 'signal'>): Promise<HubOffer[]> {
    const { hubSource } = await this.#module();
    return this.#run({ type: 'offers', source: hubSource({ hub: repository }) }, options);
  }

  /** Describes a model, and whether it fits this device. Reads only the headers of its files. */
  async inspect(source: AddSource, options?: Pick<AddOptions, 'signal'>): Promise<ModelDetails> {
    const { withSource } = await this.#module();
    return withSource(source, this.#scope, (modelSource) =>
      this.#run({ type: 'inspect', source: modelSource }, options),
    );
  }

  /**
   * Checks a model, and copies it into this browser's storage. If it is aborted or the connection fails, the
   * received part is kept for a week, and adding the same files again continues there. If the model is
   * refused, nothing is kept.
   * @example
   * async function addModel(file: File): Promise<string> {
   *   const { id } = await localtext.models.add(file, { onProgress: ({ loadedBytes }) => console.log(loadedBytes) });
   *   return id;
   * }
   */
  async add(source: AddSource, options: AddOptions = {}): Promise<AddedModel> {
    // At once, as the call follows a click. The file may be the only copy.
    requestPersistence();
    const { withSource } = await this.#module();
    const { id = null } = options;
    return withSource(source, this.#scope, (modelSource) =>
      this.#run({ type: 'add', id, source: modelSource }, options),
    );
  }

  /** Gives an added model another id. Requests that run are not affected. */
  async rename(id: string, to: string): Promise<void> {
    await this.#run({ type: 'rename', target: id, id: to });
  }

  /** Removes an added model and its files; refused while requests run on it. */
  async remove(id: string): Promise<void> {
    await this.#run({ type: 'remove', target: id });
  }

  /** Loads the implementation, a chunk that most pages never need. */
  #module() {
    return loadChunk(import('./added-models.ts'));
  }
}
