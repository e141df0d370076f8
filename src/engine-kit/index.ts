export type { AddedFormat, DescribedModel, FoundModel, SizedDevice } from './added-format.ts';
export {
  chatThreads,
  detectDevice,
  hasThreads,
  unmetSharedMemory,
  processors,
  requestAdapter,
  watchGpu,
  type Device,
  type Gpu,
  type WatchedGpu,
} from './device.ts';
export {
  FileReplaced,
  checkWasm,
  engineFileError,
  engineFileName,
  readScript,
  scriptFault,
  setAppScope,
  watchWasm,
} from './engine-file.ts';
export {
  runs,
  type Backend,
  type Engine,
  type EngineContext,
  type EnginePlugin,
  type Engines,
  type LabelScores,
  type LoadEngine,
  type LoadedFacts,
} from './engine.ts';
export { HelperWorker, type HelperHost } from './helper-worker.ts';
export { openWorker, workerBlocked } from './open-worker.ts';
export { isLackOfMemory, isOutOfMemory, loadFitting, outOfMemory } from './out-of-memory.ts';
export { RestartableHelper } from './restartable-helper.ts';
