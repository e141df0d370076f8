export { offerFiles, requestFiles } from './added-files.ts';
export {
  LEADER_EXIT_CHANNEL,
  callChannel,
  listenForCalls,
  settingsChannel,
  type CallEngine,
  type LeaderExit,
  type NeedEngine,
  type PageToServiceWorker,
  type ServePort,
  type ServiceWorkerReply,
} from './discovery.ts';
export {
  CREDIT_WINDOW,
  type RequesterMessage,
  type EngineMessage,
  type Origin,
  type Question,
  type StageFacts,
  type WaitingStage,
  type EnginePort,
  type RequesterPort,
} from './engine-port.ts';
export { addIsolation, isolates } from './isolation.ts';
export {
  CALL_HEADER,
  KEEP_ALIVE_MS,
  KEEP_ALIVE_PATH,
  LINES_TYPE,
  LOAD_PATH,
  MAX_NAME_LENGTH,
  PROTOCOL_HEADER,
  STATUS_PATH,
  type LoadLine,
} from './local-paths.ts';
export {
  copiesLock,
  engineLock,
  helperLock,
  holdLock,
  inFlightLock,
  keepLock,
  leaderLock,
  leaderUrlLock,
  nameIn,
  queryLocks,
  requestLock,
  requestsRun,
  scopeOf,
  weightLock,
  whenReleased,
} from './locks.ts';
export type { Capability, EngineFacts, ModelFacts } from './model-facts.ts';
export {
  OF_LOCALTEXT,
  type PageModel,
  type PageModelAvailability,
  type PageModelEvent,
  type PageModelMessage,
  type PageModelPart,
  type PageModelRequest,
} from './page-model.ts';
export {
  LOGGED_BODY_CHARACTERS,
  requestLogChannel,
  type LoggedBody,
  type RequestClient,
  type RequestLogEntry,
  type RequestLogMessage,
} from './request-log.ts';
export type {
  Admission,
  Admitted,
  EngineClient,
  EngineRequest,
  KeyStore,
  LimitState,
  ModelDirectory,
  ModelEntry,
  Reservation,
  ResponseStore,
  ServedVariant,
  ServiceDependencies,
  StoredResponse,
  Waiting,
} from './service-dependencies.ts';
export { PROTOCOL_VERSION } from './version.ts';
export type { CommandOf, ModelSource, WeightsCommand } from './weights-command.ts';
export {
  DESCRIPTION_FILE,
  type HubFile,
  type HubOffer,
  type ImportedFile,
  type ModelDescription,
  type ModelDetails,
  type StoredVariant,
  type WeightsOverview,
  type WeightsReplies,
} from './weights-messages.ts';
export {
  fatalLoadsKey,
  loadsKey,
  type DecodeAudio,
  type LoadRecords,
  type PageAudio,
  type PageServices,
} from './page-services.ts';
export {
  NO_ENGINE,
  WATCH_STATUS,
  idleStatus,
  statusChannel,
  type EngineStatus,
  type LoadProgress,
  type ModelStatus,
  type OnProgress,
  type Progress,
  type StatusMessage,
  type VariantEstimate,
  type VariantReason,
} from './status.ts';
export type {
  DeviceLimits,
  ImageOptions,
  SourceOptions,
  WorkerControl,
  WorkerOptions,
} from './worker-control.ts';
