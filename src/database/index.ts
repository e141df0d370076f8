export { Copies, dropCopies } from './copies.ts';
export {
  DEFAULT_LIMITS,
  keepSettings,
  readSetting,
  withDatabase,
  withTransaction,
  writeSetting,
  type BucketState,
  type KeyLimits,
  type KeyRecord,
} from './database.ts';
export { createResponseStore } from './response-store.ts';
