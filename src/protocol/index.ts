export * from './added-files.ts';
export * from './discovery.ts';
export * from './engine-port.ts';
export * from './isolation.ts';
export * from './local-paths.ts';
export * from './locks.ts';
export type * from './model-facts.ts';
export * from './page-model.ts';
export * from './page-services.ts';
export * from './pause-pages.ts';
export * from './request-log.ts';
export type * from './service-dependencies.ts';
export * from './status.ts';
export * from './version.ts';
// Its schema is in `#protocol/weights-command`, so that pages do not load zod.
export type * from './weights-command.ts';
export * from './weights-messages.ts';
export type * from './worker-control.ts';
