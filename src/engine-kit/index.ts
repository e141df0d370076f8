export type * from './added-format.ts';
export * from './device.ts';
export * from './engine.ts';
export * from './engine-file.ts';
export * from './helper-worker.ts';
export * from './open-worker.ts';
export * from './out-of-memory.ts';
export * from './restartable-helper.ts';
