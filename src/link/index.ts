export { commandWeights, createEngineClient, loadModel, readStatus } from './engine-client.ts';
export type { EngineConnection, Ways } from './engine-connection.ts';
export { linked } from './find-engine.ts';
