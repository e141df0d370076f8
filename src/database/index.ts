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
export {
  addStartedPaths,
  hasCredentialless,
  readIsolation,
  readStartedPaths,
  writeIsolation,
  type IsolationNeed,
} from './isolation-record.ts';
export { createResponseStore } from './response-store.ts';
