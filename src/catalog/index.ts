/**
 * Models and their weights.
 * @module localtext/catalog
 */

export type {
  BuiltInVariant,
  Catalog,
  CatalogModel,
  DeviceNeeds,
  HubSource,
  TransformersVariant,
  UpstreamVariant,
  Variant,
  VariantBase,
  WebLlmVariant,
  WeightFile,
  WhisperVariant,
  WllamaVariant,
} from './catalog.ts';
export { CatalogError } from './parse-catalog.ts';
export { defaultCatalog } from './default-catalog.ts';
export { extendCatalog, type CatalogExtension } from './parse-catalog.ts';
export { withBuiltIn, type BuiltInOptions } from './with-built-in.ts';
export { parseCatalog } from './parse-catalog.ts';
export { hubModels } from './hub-models.ts';
export { speech } from './speech-models.ts';
export { vision } from './vision-models.ts';
