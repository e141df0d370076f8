import {
  addedVariantName,
  hasId,
  isModelId,
  toModelId,
  withAdded,
  type AddedModel,
  type AddedModelRecord,
} from '../../catalog/added-models.ts';
import type { Catalog, WeightFile } from '../../catalog/catalog.ts';
import { FormatError } from '../../gguf/byte-cursor.ts';
import { badRequest, EngineError } from '../../protocol/engine-error.ts';
import { Mutex } from '../../protocol/mutex.ts';
import type { WeightsCommand } from '../../protocol/weights-command.ts';
import type { LoadProgress } from '../../protocol/worker-control.ts';
import { sha256 } from '../../weights/integrity/sha256.ts';
import type { ModelStorage } from '../../weights/model-storage.ts';
import type { WeightStore } from '../../weights/weight-store.ts';
import type { Device } from '../device/device.ts';
import { describeModel } from './describe-model.ts';
import { openSource, type SourceAccess, type SourceFile } from './model-source.ts';

export interface ModelAdderOptions extends Omit<SourceAccess, 'store'> {
  /** The site's own. */
  catalog: Catalog;
  added: AddedModelRecord[];
  save(added: readonly AddedModelRecord[]): Promise<void>;
  /** Makes a catalog with other added models the one in use. */
  publish(catalog: Catalog): void;
  store: Promise<WeightStore>;
  modelStorage: Pick<ModelStorage, 'delete' | 'makeRoom' | 'unfinished'>;
  device: Promise<Device>;
  /** Milliseconds since 1970. */
  now?: () => number;
}

type AddCommand = Extract<WeightsCommand, { type: 'add' }>;

/** The models that the user adds beside the site's catalog. */
export class ModelAdder {
  readonly #options: ModelAdderOptions;
  #added: readonly AddedModelRecord[];
  readonly #turns = new Mutex();

  constructor(options: ModelAdderOptions) {
    this.#options = options;
    this.#added = options.added;
    this.#turns
      .run(() => options.modelStorage.unfinished.dropExpired())
      .catch((error: unknown) => console.error('localtext: unfinished files were not removed', error));
  }

  /** One after another. Idempotent: an engine that takes over is asked again. @throws EngineError */
  add(
    command: AddCommand,
    signal: AbortSignal,
    onProgress: (progress: LoadProgress) => void,
  ): Promise<AddedModel> {
    return this.#turns.run(() => this.#add(command, signal, onProgress));
  }

  /** By its id, or its variant's name. */
  has(target: string): boolean {
    return this.#added.some((each) => isNamed(each, target));
  }

  /** @throws EngineError 400 */
  async rename(target: string, id: string): Promise<void> {
    const record = this.#find(target);
    if (id === target) return;
    this.#requireFree(id);
    await this.#publish(
      this.#added.map((each) => (each === record ? { ...each, model: { ...each.model, id } } : each)),
    );
  }

  /** @throws EngineError 400, also while requests run on it */
  async delete(target: string): Promise<void> {
    const { name } = this.#find(target).variant;
    await this.#options.modelStorage.delete(name);
    // Another call may have changed the list meanwhile.
    await this.#publish(this.#added.filter(({ variant }) => variant.name !== name));
  }

  async #add(
    { id: wanted, source }: AddCommand,
    signal: AbortSignal,
    onProgress: (progress: LoadProgress) => void,
  ): Promise<AddedModel> {
    signal.throwIfAborted();
    const store = await this.#options.store;
    const opened = await openSource(source, { ...this.#options, store }, signal);
    const described = await describeModel(opened, await this.#options.device).catch(asInvalidFile);
    const { files } = described;
    const { name, bytes } = described.model;
    // The same model again is no conflict.
    const holder = this.#added.find(({ model }) => model.id === wanted);
    if (wanted !== null && holder?.model.bytes !== bytes) this.#requireFree(wanted);
    const slug = toModelId(name);
    const storing = { files, bytes, slug, signal, onProgress };
    return this.#stored(storing, async (weights) => {
      const same = this.#added.find(({ variant }) => sameFiles(variant.files, weights));
      if (same) return requireSameId(same.model, wanted);
      const id = wanted ?? this.#unusedId(slug);
      this.#requireFree(id);
      const created = Math.floor((this.#options.now ?? Date.now)() / 1000);
      const model: AddedModel = { id, ...described.model, created };
      const variant = {
        ...described.variant,
        name: addedVariantName(slug, await contentHash(weights)),
        files: weights,
      };
      await this.#publish([...this.#added, { model, variant }]);
      return model;
    });
  }

  /**
   * Stores all files, and has `use` make a model of them. What an abort, a lost connection or the end of this worker leaves
   * is kept for the next time; what is refused goes.
   */
  async #stored<T>(storing: Storing, use: (weights: WeightFile[]) => Promise<T>): Promise<T> {
    const { files, bytes, slug, signal } = storing;
    const { store, modelStorage } = this.#options;
    const { unfinished } = modelStorage;
    // Before a local file is read as a whole to be hashed.
    const expected = await unfinished.expected(slug, bytes);
    await modelStorage.makeRoom(expected);
    if (files.some(({ phase }) => phase === 'copy')) await (await store).tryRoom(expected);
    const report = reportOf(storing);
    const weights: WeightFile[] = [];
    try {
      for (const file of files)
        weights.push(await file.describe({ signal, onProgress: report.hashing(file) }));
      if ((await (await store).missing(weights)).length > 0) await unfinished.keep(slug, weights);
      for (const [index, file] of files.entries()) {
        const described = weights[index];
        if (described) await file.store(described, { signal, onProgress: report.storing(file) });
      }
      const used = await use(weights);
      await unfinished.forget(slug, weights);
      return used;
    } catch (error) {
      const resumable =
        signal.aborted || (error instanceof EngineError && error.code === 'weights_unavailable');
      if (!resumable) await unfinished.drop(slug, weights);
      signal.throwIfAborted();
      return asInvalidFile(error);
    }
  }

  async #publish(added: readonly AddedModelRecord[]): Promise<void> {
    await this.#options.save(added);
    this.#added = added;
    this.#options.publish(withAdded(this.#options.catalog, added));
  }

  #find(target: string): AddedModelRecord {
    const found = this.#added.find((each) => isNamed(each, target));
    if (found) return found;
    throw badRequest(
      `${target} is no model that was added in this browser. models.list() names those that were.`,
      'target',
      'model_not_added',
    );
  }

  #isTaken(id: string): boolean {
    return hasId(this.#options.catalog, id) || this.#added.some(({ model }) => model.id === id);
  }

  #requireFree(id: string): void {
    if (!isModelId(id)) throw invalidId(id);
    if (this.#isTaken(id))
      throw badRequest(`The id ${id} is taken by another model. Choose another.`, 'id', 'model_id_taken');
  }

  #unusedId(slug: string): string {
    let id = slug;
    for (let number = 2; this.#isTaken(id); number++) id = `${slug}-${number}`;
    return id;
  }
}

/** @throws EngineError 400 `model_exists` when it is to have another id */
function requireSameId(model: AddedModel, wanted: string | null): AddedModel {
  if (wanted === null || wanted === model.id) return model;
  throw badRequest(
    `This model was added before, as ${model.id}. Use that id, or rename or remove the model.`,
    'source',
    'model_exists',
  );
}

const isNamed = ({ model, variant }: AddedModelRecord, target: string): boolean =>
  model.id === target || variant.name === target;

const hashOf = (file: WeightFile): string => file.sha256;

/** Of all files: models that share one have different names. */
const contentHash = async (files: readonly WeightFile[]): Promise<string> =>
  files.length === 1 ? files.map(hashOf).join() : sha256(new TextEncoder().encode(files.map(hashOf).join()));

const sameFiles = (a: readonly WeightFile[], b: readonly WeightFile[]): boolean =>
  a.map(hashOf).join() === b.map(hashOf).join();

interface Storing {
  files: readonly SourceFile[];
  bytes: number;
  /** Made of the model's name. */
  slug: string;
  signal: AbortSignal;
  onProgress(progress: LoadProgress): void;
}

/** Bytes of all files together. One of this device is read twice, and each time counts half. */
function reportOf({ files, bytes, slug, onProgress }: Storing) {
  const hashed = new Map<SourceFile, number>();
  const stored = new Map<SourceFile, number>();
  const sum = (counts: Map<SourceFile, number>): number =>
    [...counts.values()].reduce((total, each) => total + each, 0);
  const phase = files[0]?.phase ?? 'copy';
  const counting = (counts: Map<SourceFile, number>) => (file: SourceFile) => (count: number) => {
    counts.set(file, count);
    const loadedBytes = phase === 'copy' ? (sum(hashed) + sum(stored)) / 2 : sum(stored);
    onProgress({ model: slug, phase, loadedBytes, totalBytes: bytes });
  };
  return { hashing: counting(hashed), storing: counting(stored) };
}

function invalidId(id: string) {
  const message = `The id ${JSON.stringify(id.slice(0, 100))} is not allowed. Use 1 to 100 letters, digits and . _ - + : @, and begin with a letter or digit.`;
  return badRequest(message, 'id', 'invalid_value');
}

function asInvalidFile(error: unknown): never {
  if (error instanceof EngineError && error.code === 'weights_corrupt')
    throw badRequest(
      `The file changed while it was copied. Add it again. Nothing was stored.`,
      'source',
      'invalid_model_file',
    );
  if (error instanceof FormatError)
    throw badRequest(`${error.message}. Nothing was stored.`, 'source', 'invalid_model_file');
  if (error instanceof DOMException && error.name !== 'AbortError' && error.name !== 'QuotaExceededError') {
    const message = `The file cannot be read (${error.name}): it was perhaps moved or changed. Choose it again. Nothing was stored.`;
    throw badRequest(message, 'source', 'invalid_model_file');
  }
  throw error;
}
