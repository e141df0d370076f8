export { Copies, dropCopies } from './copies.ts';
export {
  DEFAULT_LIMITS,
  keepSettings,
  readAddedModels,
  readCatalog,
  readEngineFacts,
  readServerSettings,
  withDatabase,
  withTransaction,
  writeAddedModels,
  writeEngineFacts,
  type BucketState,
  type KeyLimits,
  type KeyRecord,
} from './database.ts';
export { createResponseStore } from './response-store.ts';
