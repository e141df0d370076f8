import { vi } from 'vitest';
import type { Catalog } from '../../../src/catalog/catalog.ts';
import { type CommandDependencies, runCommand } from '../../../src/weights/commands.ts';
import type { Weights } from '../../../src/weights/create-weights.ts';
import { ModelStorage, type ModelStorageOptions } from '../../../src/weights/model-storage.ts';
import { MemoryBackend } from '../../../src/weights/backends/open-backend.ts';
import { VariantFiles } from '../../../src/weights/sources/variant-files.ts';
import type { WeightStore } from '../../../src/weights/weight-store.ts';
import { openStore } from './open-store.ts';

/** The weight store and all above it, over memory; no model is in use. */
export function weightsService(
  catalog: Catalog,
  options: Partial<ModelStorageOptions> & {
    url?: string;
    backend?: MemoryBackend;
    weights?: WeightStore;
    now?: () => number;
  } = {},
): CommandDependencies &
  Pick<Weights, 'run'> & { weights: WeightStore; variantFiles: VariantFiles; backend: MemoryBackend } {
  const { url = 'http://127.0.0.1:9/', backend = new MemoryBackend(), now, ...rest } = options;
  if (now) vi.spyOn(Date, 'now').mockImplementation(now);
  const weights = options.weights ?? openStore(backend, url);
  const store = () => Promise.resolve(weights);
  const variantFiles = new VariantFiles(store, url);
  const modelStorage = new ModelStorage({
    catalog,
    store,
    variantFiles,
    evict: false,
    inUse: () => false,
    isBusy: () => false,
    release: async () => true,
    ...rest,
  });
  const notHere = () => Promise.reject(new Error('not in this test'));
  const adder = {
    add: notHere,
    delete: notHere,
    has: () => false,
    inspect: notHere,
    offers: notHere,
    rename: notHere,
  };
  const chosen = (id: string) => catalog.models.find((model) => model.id === id)?.variants[0]?.name;
  const variantOf = (target: string) => modelStorage.name(target, chosen(target));
  const dependencies = { adder, store, variantFiles, modelStorage, variantOf };
  return {
    ...dependencies,
    weights,
    backend,
    run: (command, signal, onProgress) => runCommand(dependencies, command, signal, onProgress),
  };
}
