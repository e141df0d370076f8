/** The browser does not run the worker's script, for what `message` says: to try again helps only after a reload. */
export class WorkerBlockedError extends Error {}
