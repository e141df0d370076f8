export { commandWeights, createRequester, loadModel, readStatus } from './requester.ts';
export type { EngineConnection, Ways } from './engine-connection.ts';
export { linked } from './find-engine.ts';
