import { withAdded, type AddedModelRecord, type Catalog } from '#catalog';
import { untilFailure } from '#base';
import type { Device, Engines } from '#engine-kit';
import type { CommandOf, OnProgress, WeightsCommand, WeightsReplies, WorkerOptions } from '#protocol';
import { ModelAdder, type ModelAdderOptions } from './added/model-adder.ts';
import { openBackend } from './backends/open-backend.ts';
import { QUESTIONS, runCommand } from './commands.ts';
import { DownloadRate } from './download/download-rate.ts';
import { ModelStorage, type ModelStorageOptions } from './model-storage.ts';
import { VariantFiles } from './sources/variant-files.ts';
import { WeightStore } from './weight-store.ts';

export interface WeightsOptions
  extends
    Pick<WorkerOptions, 'scope' | 'modelsUrl' | 'sources'>,
    Pick<ModelStorageOptions, 'evict'>,
    Pick<ModelAdderOptions, 'requestFiles' | 'read' | 'save'> {
  /** The site's own catalog. */
  catalog: Catalog;
  /** Models that the user added. */
  added: AddedModelRecord[];
  engines: Engines;
  device: Promise<Device>;
  /** The models in memory, whose files are kept. */
  users: Pick<ModelStorageOptions, 'inUse' | 'isBusy' | 'release'>;
  /** Chooses a variant for a model; resolves to its name, or to undefined if there is none. */
  chosen(id: string): Promise<string | undefined>;
}

/** `models`: the user added, renamed or removed a model. `files`: files were stored or deleted, or a download changed. */
export type WeightsChange = 'models' | 'files';

/** The weights of an engine worker: downloads, stored files, and the models that the user adds. */
export interface Weights {
  /** The site's catalog and the added models. */
  readonly catalog: Catalog;
  /** Opens the store of files. */
  store(): Promise<WeightStore>;
  /** The lists of files of variants. */
  readonly files: VariantFiles;
  /** Stored weights by model: makes room, and records uses. */
  readonly storage: ModelStorage;
  readonly rate: Pick<DownloadRate, 'bytesPerSecond'>;
  /** Runs a page's command. @throws ServiceError */
  run<T extends WeightsCommand['type']>(
    command: CommandOf<T>,
    signal: AbortSignal,
    onProgress?: OnProgress,
  ): Promise<WeightsReplies[T]>;
  onChange(listener: (change: WeightsChange) => void): void;
}

export function createWeights(options: WeightsOptions): Weights {
  const { scope, modelsUrl, catalog: siteCatalog, added, evict, users, chosen } = options;
  let catalog = withAdded(siteCatalog, added);
  const listeners: ((change: WeightsChange) => void)[] = [];
  const changed = (change: WeightsChange): void => listeners.forEach((listener) => listener(change));
  const rate = new DownloadRate();
  const store = untilFailure(
    async () => new WeightStore(await openBackend(), modelsUrl, navigator.locks, scope, rate),
  );
  // Loads that need the store report the failure.
  store().catch(() => undefined);
  const files = new VariantFiles(store, modelsUrl, options.sources);
  const storage = new ModelStorage({
    catalog,
    store,
    variantFiles: files,
    evict,
    inUse: (variant) => users.inUse(variant),
    isBusy: (variant) => users.isBusy(variant),
    release: (variant) => users.release(variant),
  });
  storage.setCatalog(catalog, added);
  const adder = new ModelAdder({
    ...options,
    store,
    variantFiles: files,
    modelStorage: storage,
    publish(withModels, records) {
      catalog = withModels;
      storage.setCatalog(catalog, records);
      changed('models');
    },
  });
  const variantOf = async (target: string): Promise<string> => storage.name(target, await chosen(target));
  const dependencies = { store, variantFiles: files, modelStorage: storage, adder, variantOf };
  return {
    get catalog() {
      return catalog;
    },
    store,
    files,
    storage,
    rate,
    async run(command, signal, onProgress) {
      const reply = await runCommand(dependencies, command, signal, onProgress);
      if (!QUESTIONS.has(command.type)) changed('files');
      return reply;
    },
    onChange: (listener) => void listeners.push(listener),
  };
}
