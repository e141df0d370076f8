import { type AddedModelRecord, withAdded } from '../../../../src/catalog/added-models.ts';
import type { Catalog } from '../../../../src/catalog/catalog.ts';
import { detectDevice } from '../../../../src/engine-kit/device.ts';
import { ENGINES } from '../../../../src/engines/index.ts';
import { ModelAdder, type ModelAdderOptions } from '../../../../src/weights/added/model-adder.ts';
import type { weightsService } from '../weights-service.ts';

/** Adds models over memory. @param saved the records kept: those it starts with, and then those it saves */
export function adderOf(
  catalog: Catalog,
  { modelStorage, store, variantFiles }: ReturnType<typeof weightsService>,
  saved: AddedModelRecord[],
  options: Partial<ModelAdderOptions> = {},
): ModelAdder {
  modelStorage.setCatalog(withAdded(catalog, saved), saved);
  return new ModelAdder({
    catalog,
    engines: ENGINES,
    added: [...saved],
    read: async () => [...saved],
    save: async (models) => void saved.splice(0, saved.length, ...models),
    publish: (...all) => modelStorage.setCatalog(...all),
    store,
    variantFiles,
    modelStorage,
    device: detectDevice({}),
    requestFiles: async () => null,
    ...options,
  });
}
