export { Copies, dropCopies } from './copies.ts';
export {
  DEFAULT_LIMITS,
  keepSettings,
  readAddedModels,
  readCatalog,
  readFacts,
  readServerSettings,
  withDatabase,
  withTransaction,
  writeAddedModels,
  storeFacts,
  type BucketState,
  type KeyLimits,
  type KeyRecord,
} from './database.ts';
export { createResponseStore } from './response-store.ts';
