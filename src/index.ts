/**
 * Page library.
 * @module localtext
 */

export type { AddOptions, AddSource } from '#page';
export type { AddedModels } from '#page';
export { createFetch } from '#page';
export { keys, type Keys } from '#page';
export { LocaltextError } from '#page';
export type { Localtext, LocaltextStatus } from '#page';
export type { ExportedFile } from '#page';
export { start } from '#page';
export type { StartOptions } from '#page';
export { watchRequests } from '#page';
export type { Weights } from '#page';
export type { AddedModel, EmbeddingShape } from '#catalog';
export type { Catalog } from '#catalog';
export type {
  DeviceLimits,
  EngineStatus,
  ImageOptions,
  LoadProgress,
  ModelStatus,
  SourceOptions,
  VariantEstimate,
  VariantReason,
} from '#protocol';
export type { LoggedBody, RequestClient, RequestLogEntry } from '#protocol';
export type { ErrorCode } from '#base';
export type {
  HubFile,
  HubOffer,
  ImportedFile,
  ModelDetails,
  StoredVariant,
  WeightsOverview,
} from '#protocol';
export type { IssuedKey, IssueOptions, KeyAdministrator, KeyInfo } from '#keys';
export type { KeyLimits } from '#database';
