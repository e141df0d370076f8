export { createModels } from './create-models.ts';
export type { LoadedModel } from './loaded-model.ts';
export { LoadedModels } from './loaded-models.ts';
export type { ModelManager } from './model-manager.ts';
export { rank } from './rank.ts';
