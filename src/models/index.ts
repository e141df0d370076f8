export { createModels, type Models } from './create-models.ts';
export type { LoadedModel } from './loaded-model.ts';
export { LoadedModels } from './loaded-models.ts';
export type { ModelAdder } from './model-adder.ts';
export type { ModelManager } from './model-manager.ts';
