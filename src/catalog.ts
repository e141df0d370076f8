/**
 * Models and their weights.
 * @module localtext/catalog
 */

export type {
  Catalog,
  CatalogModel,
  DeviceNeeds,
  HubSource,
  Variant,
  VariantBase,
  VariantOf,
  WeightFile,
} from '#catalog';
export { CatalogError } from '#catalog/parse';
export { defaultCatalog } from '#catalog/default';
export { extendCatalog, type CatalogExtension } from '#catalog/parse';
export { withBuiltIn, type BuiltInOptions } from '#catalog';
export { parseCatalog } from '#catalog/parse';
export { hubModels } from '#catalog';
export { speech } from '#catalog';
export { vision } from '#catalog';
export { voices } from '#catalog';
