import type { Catalog } from '../../../src/catalog/catalog.ts';
import type { WeightsService } from '../../../src/engine/requests/serve-weights.ts';
import { Library, type LibraryOptions } from '../../../src/weights/model-storage.ts';
import { MemoryShelf } from '../../../src/weights/backends/memory-backend.ts';
import { Transfer } from '../../../src/weights/model-import-export.ts';
import { WeightSources } from '../../../src/weights/sources/weight-sources.ts';
import { WeightStore } from '../../../src/weights/weight-store.ts';

/** The weight store and all above it, over memory; no model is in use. */
export function weightsService(
  catalog: Catalog,
  options: Partial<LibraryOptions> & { url?: string; shelf?: MemoryShelf } = {},
): WeightsService & { weights: WeightStore; sources: WeightSources; shelf: MemoryShelf } {
  const { url = 'http://127.0.0.1:9/', shelf = new MemoryShelf(), ...rest } = options;
  const weights = new WeightStore(shelf, url);
  const store = Promise.resolve(weights);
  const sources = new WeightSources(store, url);
  const library = new Library({
    catalog,
    store,
    sources,
    evict: false,
    chosen: (id) => catalog.models.find((model) => model.id === id)?.variants[0]?.name,
    inUse: () => false,
    release: async () => true,
    ...rest,
  });
  const transfer = new Transfer(store, library, sources);
  return { store, weights, shelf, sources, library, transfer, onChange: () => undefined };
}
