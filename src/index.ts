/**
 * Page library.
 * @module localtext
 */

export type { AddOptions, AddSource } from './page/added-models.ts';
export type { AddedModels } from './page/added-models-handle.ts';
export { createFetch } from './page/create-fetch.ts';
export { keys, type Keys } from './page/keys.ts';
export { LocaltextError } from './page/localtext-error.ts';
export type { Localtext, LocaltextStatus } from './page/localtext.ts';
export type { ExportedFile } from './page/model-files.ts';
export { start } from './page/start.ts';
export type { StartOptions } from './page/start-options.ts';
export { watchRequests } from './page/watch-requests.ts';
export type { Weights } from './page/weights-handle.ts';
export type { AddedModel, EmbeddingShape } from './catalog/added-models.ts';
export type { Catalog } from './catalog/catalog.ts';
export type {
  DeviceLimits,
  EngineStatus,
  ImageOptions,
  LoadProgress,
  ModelStatus,
  SourceOptions,
  VariantEstimate,
  VariantReason,
} from './protocol/worker-control.ts';
export type { LoggedBody, RequestClient, RequestLogEntry } from './protocol/request-log.ts';
export type { ErrorCode } from './errors/error-codes.ts';
export type {
  HubFile,
  HubOffer,
  ImportedFile,
  ModelDetails,
  StoredVariant,
  WeightsOverview,
} from './protocol/weights-messages.ts';
export type { IssuedKey, IssueOptions, KeyAdministrator, KeyInfo } from './keys/key-administrator.ts';
export type { KeyLimits } from './database/database.ts';
