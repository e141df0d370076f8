import { LoadedModels } from '../../src/models/loaded-models.ts';
import { ModelManager, type ModelManagerOptions } from '../../src/models/model-manager.ts';
import { ENGINES } from '../../src/engines/index.ts';

type Given = Pick<ModelManagerOptions, 'catalog' | 'load'> & Partial<ModelManagerOptions>;

/** A manager that, unless the options say otherwise, takes variants in the catalog's order and has no limit of memory. */
export const createModelManager = (options: Given): ModelManager =>
  new ModelManager({
    engines: ENGINES,
    loadedModels: new LoadedModels(),
    plan: async ({ variants }) => ({ candidates: variants, reasons: [] }),
    budgetBytes: Promise.resolve(Number.POSITIVE_INFINITY),
    variantDetails: {},
    onChange: () => undefined,
    onDeviceLost: () => undefined,
    onAgain: () => undefined,
    crashGuard: { onJob: () => undefined },
    ...options,
  });
