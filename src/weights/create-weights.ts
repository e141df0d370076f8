import type { Catalog } from '#catalog';
import type { WorkerOptions } from '#protocol';
import { untilFailure } from '#base';
import { openBackend } from './backends/open-backend.ts';
import { DownloadRate } from './download/download-rate.ts';
import { ModelStorage, type ModelStorageOptions } from './model-storage.ts';
import { WeightSources } from './sources/weight-sources.ts';
import { WeightStore } from './weight-store.ts';

/** The weights of a site: where they come from, and which are stored. */
export interface Weights {
  /** Opens the store, again after a failure. */
  readonly store: () => Promise<WeightStore>;
  readonly sources: WeightSources;
  readonly modelStorage: ModelStorage;
  readonly rate: DownloadRate;
}

interface WeightsOptions
  extends
    Pick<WorkerOptions, 'scope' | 'modelsUrl' | 'sources'>,
    Pick<ModelStorageOptions, 'catalog' | 'evict'> {
  catalog: Catalog;
  /** The models in memory, whose files are kept. */
  users: Pick<ModelStorageOptions, 'inUse' | 'release'>;
}

export function createWeights({
  scope,
  modelsUrl,
  sources: access,
  catalog,
  evict,
  users,
}: WeightsOptions): Weights {
  const rate = new DownloadRate();
  const store = untilFailure(
    async () => new WeightStore(await openBackend(), modelsUrl, navigator.locks, scope, rate),
  );
  // Loads that need the store report the failure.
  store().catch(() => undefined);
  const sources = new WeightSources(store, modelsUrl, access);
  const modelStorage = new ModelStorage({
    catalog,
    store,
    sources,
    evict,
    inUse: (variant) => users.inUse(variant),
    release: (variant) => users.release(variant),
  });
  return { store, sources, modelStorage, rate };
}
