import type { AddedModel } from '../catalog/added-models.ts';
import type { HubOffer, ModelDetails } from '../protocol/weights-messages.ts';
import type { AddOptions, AddSource } from './added-models.ts';
import { askEngine } from './ask-engine.ts';
import { eitherSignal } from './either-signal.ts';
import type { ElectionMember } from './election/election-member.ts';
import { loadChunk } from './load-chunk.ts';

/**
 * Models that the user adds to those of the catalog. They answer in every tab, offline too, until they are removed.
 * Every call throws LocaltextError.
 */
export class AddedModels {
  readonly #leader: ElectionMember;
  readonly #stopped: AbortSignal;

  constructor(leader: ElectionMember, stopped: AbortSignal) {
    this.#leader = leader;
    this.#stopped = stopped;
  }

  /** The added models alone, the oldest first. `GET /v1/models` lists all: those of the catalog, too. */
  async list(): Promise<AddedModel[]> {
    return (await this.#module()).listModels(this.#leader.scope);
  }

  /**
   * The chat models in GGUF and the embedding models in ONNX of a repository of the model hub (`owner/name`), the smallest
   * first, at the commit that `main` has.
   */
  async offers(repository: string, options?: Pick<AddOptions, 'signal'>): Promise<HubOffer[]> {
    return (await this.#module()).listOffers(
      repository,
      this.#leader,
      eitherSignal(this.#stopped, options?.signal),
    );
  }

  /** Describes a model, and whether it fits this device. Reads only the headers of its files. */
  async inspect(source: AddSource, options?: Pick<AddOptions, 'signal'>): Promise<ModelDetails> {
    return (await this.#module()).inspectSource(
      source,
      this.#leader,
      eitherSignal(this.#stopped, options?.signal),
    );
  }

  /**
   * Checks a model, and copies it into this browser's storage. When it is aborted or the connection fails, what has
   * come is kept for a week, and adding the same files again continues there. When it is refused, nothing stays.
   * @example
   * async function addModel(file: File): Promise<string> {
   *   const { id } = await localtext.models.add(file, { onProgress: ({ loadedBytes }) => console.log(loadedBytes) });
   *   return id;
   * }
   */
  async add(source: AddSource, options: AddOptions = {}): Promise<AddedModel> {
    return (await this.#module()).addModel(
      source,
      options,
      this.#leader,
      eitherSignal(this.#stopped, options.signal),
    );
  }

  /** Gives an added model another id. Requests that run are not affected. */
  async rename(id: string, to: string): Promise<void> {
    await askEngine(this.#leader, { type: 'rename', target: id, id: to }, this.#stopped);
  }

  /** Removes an added model and its files; refused while requests run on it. */
  async remove(id: string): Promise<void> {
    await askEngine(this.#leader, { type: 'remove', target: id }, this.#stopped);
  }

  /** Loads its own chunk, which most pages never need. */
  #module() {
    return loadChunk(import('./added-models.ts'));
  }
}
