import {
  hasId,
  isModelId,
  toModelId,
  withAdded,
  formatBytes,
  type AddedModel,
  type AddedModelRecord,
  type Catalog,
  type WeightFile,
} from '#catalog';
import type { DescribedModel, Engines, Device } from '#engine-kit';
import { requestError, storageUnavailable, Mutex, type ServiceError } from '#base';
import type { ModelSource, WeightsCommand, HubOffer, ModelDetails, OnProgress } from '#protocol';
import type { ModelStorage } from '../model-storage.ts';
import type { RepositoryRef } from '../sources/hub-source.ts';
import { asStorageFull } from '../download/download-errors.ts';
import { freeBytes } from '../storage-estimate.ts';
import { addedFormat, listModels } from './repository-models.ts';
import {
  asInvalidFile,
  type FileStorage,
  openModel,
  type FileAccess,
  type NewFile,
  storeFiles,
} from './new-files.ts';

export interface ModelAdderOptions extends FileStorage, Omit<FileAccess, 'store'> {
  /** The site's own catalog. */
  catalog: Catalog;
  engines: Engines;
  added: AddedModelRecord[];
  /** Reads the saved records: the user may have cleared them with the site's data. */
  read(): Promise<AddedModelRecord[]>;
  save(added: readonly AddedModelRecord[]): Promise<void>;
  /** Replaces the catalog in use after the added models changed. */
  publish(catalog: Catalog, added: readonly AddedModelRecord[]): void;
  modelStorage: Pick<ModelStorage, 'delete' | 'makeRoom' | 'note' | 'unfinished' | 'withRoom'>;
  device: Promise<Device>;
}

/** Maximum number of models that are listed of a repository: a page shows all. */
const MAX_OFFERS = 500;

type AddCommand = Extract<WeightsCommand, { type: 'add' }>;

/** Manages the models that the user adds to the site's catalog. */
export class ModelAdder {
  readonly #options: ModelAdderOptions;
  #added: readonly AddedModelRecord[];
  /** Ends when models that an earlier engine left unfinished are known, and the expired ones removed. */
  readonly #swept: Promise<void>;
  readonly #listMutex = new Mutex();

  constructor(options: ModelAdderOptions) {
    this.#options = options;
    this.#added = options.added;
    this.#swept = this.#sweep().catch((error: unknown) =>
      console.error('localtext: unfinished files were not removed', error),
    );
  }

  async #sweep(): Promise<void> {
    const { added, modelStorage, read } = this.#options;
    // The index may have been damaged.
    for (const { variant } of added) await modelStorage.note(variant.name, variant.files);
    // Without the whole list, a complete model may look unfinished.
    if ((await read()).length === added.length) await modelStorage.unfinished.dropExpired();
  }

  /** Lists the models of a repository on the model hub, the smallest first. @throws ServiceError */
  async offers(source: RepositoryRef, signal: AbortSignal): Promise<HubOffer[]> {
    const { variantFiles, engines } = this.#options;
    const format = await addedFormat(engines);
    const models = await listModels(source, variantFiles, format, signal);
    const [device, free] = await Promise.all([this.#options.device, freeBytes()]);
    return models.slice(0, MAX_OFFERS).map(({ kind, file, revision, bytes, files }) => {
      const sizes = files.map(({ bytes: size }) => ({ size }));
      const problem = format.shortage(sizes, device) ?? storageShortage(bytes, free);
      const quantization = format.quantization(file);
      return { hub: source.repository, kind, file, revision, quantization, bytes, problem };
    });
  }

  /** Reads the headers of a model's files. @throws ServiceError */
  async inspect(source: ModelSource, signal: AbortSignal): Promise<ModelDetails> {
    const { model, details, shortage } = await this.#describe(source, signal);
    const { completionsOnly: _, ...known } = model;
    const problem = shortage ?? storageShortage(model.bytes, await freeBytes());
    return { suggestedId: toModelId(model.name), ...known, ...details, problem };
  }

  /** Whether an added model has this id or variant name. */
  has(target: string): boolean {
    return this.#added.some((each) => isNamed(each, target));
  }

  /** @throws ServiceError 400 */
  rename(target: string, id: string): Promise<void> {
    return this.#changing(async () => {
      const record = this.#find(target);
      if (id === target) return;
      this.#requireFree(id);
      await this.#publish(
        this.#added.map((each) => (each === record ? { ...each, model: { ...each.model, id } } : each)),
      );
    });
  }

  /** @throws ServiceError 400, also while requests use the model */
  delete(target: string): Promise<void> {
    return this.#changing(async () => {
      const record = this.#find(target);
      const unlist = () => this.#publish(this.#added.filter((each) => each !== record));
      await this.#options.modelStorage.delete(record.variant.name, unlist);
    });
  }

  /** Adds a model. Idempotent, as an engine that takes over repeats the call. @throws ServiceError */
  async add(
    { id: requestedId, source }: AddCommand,
    signal: AbortSignal,
    onProgress: OnProgress,
  ): Promise<AddedModel> {
    await this.#swept;
    signal.throwIfAborted();
    await this.#refresh();
    const described = await this.#describe(source, signal);
    const { files, roles, defaults } = described;
    const { name, bytes } = described.model;
    const fault = await described.fault?.();
    if (fault !== undefined) throw unsupportedModel(`${name} ${fault}. Use another file of this model.`);
    if (described.shortage !== undefined)
      throw unsupportedModel(`${name} ${described.shortage}. Choose a smaller model.`);
    // Adding the same model again is not a conflict.
    const holder = this.#added.find(({ model }) => model.id === requestedId);
    if (requestedId !== null && holder?.model.bytes !== bytes) this.#requireFree(requestedId);
    const slug = toModelId(name);
    const storing = { files, bytes, slug, signal, onProgress };
    return storeFiles(this.#options, storing, async (stored, variantName) => {
      const weights = stored.map((file, index): WeightFile => {
        const from = files[index];
        const role = from && roles?.get(from);
        return role ? { ...file, role } : file;
      });
      return this.#changing(async () => {
        const same = this.#added.find(({ variant }) => sameFiles(variant.files, weights));
        if (same) return requireSameId(same.model, requestedId);
        const id = requestedId ?? this.#unusedId(slug);
        this.#requireFree(id);
        const created = Math.floor(Date.now() / 1000);
        const model: AddedModel = { id, ...described.model, created };
        const variant = { ...described.variant, name: variantName, files: weights };
        await this.#publish([...this.#added, { model, variant, ...(defaults && { defaults }) }]);
        return model;
      });
    });
  }

  async #describe(source: ModelSource, signal: AbortSignal): Promise<DescribedModel<NewFile>> {
    const [store, device, format] = await Promise.all([
      this.#options.store(),
      this.#options.device,
      addedFormat(this.#options.engines),
    ]);
    const access = { ...this.#options, store };
    const files = await openModel(source, access, format, signal);
    return format.describe(files, device).catch(asInvalidFile);
  }

  async #refresh(): Promise<void> {
    this.#added = await this.#options.read().catch(storageUnavailable);
  }

  /** Runs a change of the list. Changes run one at a time: none is lost. */
  #changing<T>(change: () => Promise<T>): Promise<T> {
    return this.#listMutex.run(async () => {
      await this.#refresh();
      return change();
    });
  }

  async #publish(added: readonly AddedModelRecord[]): Promise<void> {
    await this.#options
      .save(added)
      .catch((error: unknown) => storageUnavailable(asStorageFull(error, 'the list of added models')));
    this.#added = added;
    this.#options.publish(withAdded(this.#options.catalog, added), added);
  }

  #find(target: string): AddedModelRecord {
    const found = this.#added.find((each) => isNamed(each, target));
    if (found) return found;
    const message = `${target} is not a model that was added in this browser. models.list() lists those.`;
    throw requestError(400, message, 'model_not_added', 'target');
  }

  #isTaken(id: string): boolean {
    return hasId(this.#options.catalog, id) || this.#added.some(({ model }) => model.id === id);
  }

  #requireFree(id: string): void {
    if (!isModelId(id)) throw invalidId(id);
    const message = `The id ${id} is taken by another model. Choose another.`;
    if (this.#isTaken(id)) throw requestError(400, message, 'model_id_taken', 'id');
  }

  #unusedId(slug: string): string {
    let id = slug;
    for (let number = 2; this.#isTaken(id); number++) id = `${slug}-${number}`;
    return id;
  }
}

const unsupportedModel = (message: string): ServiceError =>
  requestError(400, message, 'unsupported_model', 'source');

function storageShortage(bytes: number, free: number | null): string | null {
  if (free === null || free >= bytes) return null;
  return `needs ${formatBytes(bytes)} of storage, and the browser lets this site store ${formatBytes(free)} more`;
}

/** Returns a model that was added before. @throws ServiceError 400 `model_exists` if another id is requested */
function requireSameId(model: AddedModel, requestedId: string | null): AddedModel {
  if (requestedId === null || requestedId === model.id) return model;
  const message = `This model was added before, as ${model.id}. Use that id, or rename or remove the model.`;
  throw requestError(400, message, 'model_exists', 'source');
}

const isNamed = ({ model, variant }: AddedModelRecord, target: string): boolean =>
  model.id === target || variant.name === target;

const hashOf = (file: WeightFile): string => file.sha256;

const sameFiles = (a: readonly WeightFile[], b: readonly WeightFile[]): boolean =>
  a.map(hashOf).join() === b.map(hashOf).join();

function invalidId(id: string) {
  const message = `The id ${JSON.stringify(id.slice(0, 100))} is not allowed. Use 1 to 100 letters, digits and . _ - + : @, and begin with a letter or digit.`;
  return requestError(400, message, 'invalid_value', 'id');
}
