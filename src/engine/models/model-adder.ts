import {
  addedVariantName,
  hasId,
  isModelId,
  toModelId,
  withAdded,
  type AddedModel,
  type AddedModelRecord,
} from '../../catalog/added-models.ts';
import type { Catalog, WeightFile, WllamaVariant } from '../../catalog/catalog.ts';
import { memoryShortage } from '../../catalog/device-fit.ts';
import { chooseContext, estimateMemory } from '../../catalog/memory-estimate.ts';
import { FormatError } from '../../gguf/byte-cursor.ts';
import type { GgufFacts } from '../../gguf/gguf-facts.ts';
import { inspectModel } from '../../gguf/inspect-model.ts';
import { badRequest } from '../../protocol/engine-error.ts';
import { Mutex } from '../../protocol/mutex.ts';
import type { WeightsCommand } from '../../protocol/weights-messages.ts';
import type { LoadProgress } from '../../protocol/worker-control.ts';
import type { ModelStorage } from '../../weights/model-storage.ts';
import type { WeightSources } from '../../weights/sources/weight-sources.ts';
import type { WeightStore } from '../../weights/weight-store.ts';
import type { Device } from '../device/device.ts';
import { openSource, type SourceFile } from './model-source.ts';

export interface ModelAdderOptions {
  /** The site's own. */
  catalog: Catalog;
  added: AddedModelRecord[];
  save(added: readonly AddedModelRecord[]): Promise<void>;
  /** Makes a catalog with other added models the one in use. */
  publish(catalog: Catalog): void;
  store: Promise<WeightStore>;
  sources: Pick<WeightSources, 'hubModel'>;
  modelStorage: Pick<ModelStorage, 'delete' | 'known' | 'makeRoom'>;
  device: Promise<Device>;
  /** Milliseconds since 1970. */
  now?: () => number;
}

type AddCommand = Extract<WeightsCommand, { type: 'add' }>;

/** llama.cpp's own defaults: small models write nonsense without them. */
const SAMPLING = { topK: 40, minP: 0.05 };

/** Lists the files that are being stored: should the worker end meanwhile, the next one removes them. */
const NOTE = 'adding';

/** The models that the user adds beside the site's catalog. */
export class ModelAdder {
  readonly #options: ModelAdderOptions;
  #added: readonly AddedModelRecord[];
  readonly #turns = new Mutex();

  constructor(options: ModelAdderOptions) {
    this.#options = options;
    this.#added = options.added;
    this.#turns
      .run(() => this.#removeLeftovers())
      .catch((error: unknown) =>
        console.error('localtext: files of an interrupted add were not removed', error),
      );
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
    const inspected = await inspectModel(
      await openSource(source, store, this.#options.sources, signal),
    ).catch(asInvalidFile);
    const { facts, name, bytes, files } = inspected;
    // The same model again is no conflict.
    const holder = this.#added.find(({ model }) => model.id === wanted);
    if (wanted !== null && holder?.model.bytes !== bytes) this.#requireFree(wanted);
    const { contextLength, memoryBytes } = await this.#fit(name, facts, bytes);
    const weights = await this.#store(files, bytes, wanted ?? name, signal, onProgress);
    try {
      const same = this.#added.find(({ variant }) => sameFiles(variant.files, weights));
      if (same) return requireSameId(same.model, wanted);
      const id = wanted ?? this.#unusedId(toModelId(name));
      this.#requireFree(id);
      const model: AddedModel = {
        id,
        name,
        architecture: facts.architecture,
        quantization: facts.quantization,
        contextLength,
        bytes,
        memoryBytes,
        created: Math.floor((this.#options.now ?? Date.now)() / 1000),
      };
      const variant: WllamaVariant = {
        engine: 'wllama',
        name: addedVariantName(toModelId(name), weights[0]?.sha256 ?? ''),
        license: facts.license?.slice(0, 100) ?? 'unknown',
        contextLength,
        kvValues: facts.kvValues,
        sampling: SAMPLING,
        files: weights,
      };
      await this.#publish([...this.#added, { model, variant }]);
      return model;
    } finally {
      // Also when the id was taken meanwhile.
      await this.#removeLeftovers();
    }
  }

  /** @throws EngineError 400 `unsupported_model` */
  async #fit(
    name: string,
    facts: GgufFacts,
    bytes: number,
  ): Promise<{ contextLength: number; memoryBytes: number }> {
    const { memoryGiB } = await this.#options.device;
    const model = { ...facts, engine: 'wllama' as const, files: [{ bytes }] };
    const contextLength = chooseContext(model, (needed) => memoryShortage(needed, memoryGiB) === undefined);
    const { memoryBytes } = estimateMemory({ ...model, contextLength });
    const shortage = memoryShortage(memoryBytes, memoryGiB);
    if (shortage === undefined) return { contextLength, memoryBytes };
    throw badRequest(`${name} ${shortage}. Choose a smaller model.`, 'source', 'unsupported_model');
  }

  /** All files, or none: what was stored for it goes when it fails. */
  async #store(
    files: readonly SourceFile[],
    bytes: number,
    model: string,
    signal: AbortSignal,
    onProgress: (progress: LoadProgress) => void,
  ): Promise<WeightFile[]> {
    const store = await this.#options.store;
    await this.#options.modelStorage.makeRoom([{ path: model, bytes, sha256: 'to be added' }]);
    const weights: WeightFile[] = [];
    let done = 0;
    try {
      for (const file of files) {
        const options = {
          signal,
          onProgress: (loaded: number) =>
            onProgress({ model, phase: file.phase, loadedBytes: done + loaded, totalBytes: bytes }),
        };
        const described = await file.describe(options);
        if ((await store.missing([described])).length > 0) await this.#note(described);
        await file.store(described, options);
        weights.push(described);
        done += file.size;
      }
      return weights;
    } catch (error) {
      await this.#removeLeftovers();
      signal.throwIfAborted();
      return asInvalidFile(error);
    }
  }

  async #note(file: WeightFile): Promise<void> {
    const store = await this.#options.store;
    await store.notes.keepNote(NOTE, JSON.stringify([...(await readNote(store)), file]));
  }

  /** Removes noted files that no model uses. */
  async #removeLeftovers(): Promise<void> {
    const store = await this.#options.store;
    const noted = await readNote(store);
    if (noted.length === 0) return;
    const used = new Set(
      (await this.#options.modelStorage.known()).flatMap(({ files }) => files.map(hashOf)),
    );
    for (const file of noted) if (!used.has(file.sha256)) await store.delete(file);
    await store.notes.dropNote(NOTE);
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

const hashOf = ({ sha256 }: WeightFile): string => sha256;

const sameFiles = (a: readonly WeightFile[], b: readonly WeightFile[]): boolean =>
  a.map(hashOf).join() === b.map(hashOf).join();

async function readNote(store: WeightStore): Promise<WeightFile[]> {
  const text = await store.notes.note(NOTE);
  // Written by `#note` alone.
  return text === null ? [] : (JSON.parse(text) as WeightFile[]);
}

function invalidId(id: string) {
  const message = `The id ${JSON.stringify(id.slice(0, 100))} is not allowed. Use 1 to 100 letters, digits and . _ - + : @, and begin with a letter or digit.`;
  return badRequest(message, 'id', 'invalid_value');
}

function asInvalidFile(error: unknown): never {
  if (error instanceof FormatError)
    throw badRequest(`${error.message}. Nothing was stored.`, 'source', 'invalid_model_file');
  if (error instanceof DOMException && error.name !== 'AbortError' && error.name !== 'QuotaExceededError') {
    const message = `The file cannot be read (${error.name}): it was perhaps moved or changed. Choose it again. Nothing was stored.`;
    throw badRequest(message, 'source', 'invalid_model_file');
  }
  throw error;
}
