export { createFetch } from './page/create-fetch.ts';
export { keys, type Keys } from './page/keys.ts';
export { LocaltextError, type LocaltextErrorCode } from './page/localtext-error.ts';
export type { Localtext, LocaltextStatus } from './page/localtext.ts';
export { start } from './page/start.ts';
export type { StartOptions } from './page/start-options.ts';
export type { Catalog } from './catalog/catalog.ts';
export type { EngineStatus, LoadProgress, ModelStatus } from './protocol/control.ts';
