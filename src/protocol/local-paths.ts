import type { LoadProgress } from './status.ts';
import type { WireError } from '#base';

/**
 * Paths that the service worker answers beside /v1, without a key. Only the page library and the engine
 * worker may ask: every request carries `PROTOCOL_HEADER`, which no form, link, frame or image can set, and
 * is no navigation.
 */

/** Header whose value is `PROTOCOL_VERSION`. */
export const PROTOCOL_HEADER = 'localtext-protocol';

/** Id that the page library gives a request of `localtext.fetch`, to tell the service worker of its abort. */
export const ABORT_HEADER = 'localtext-abort-id';

/** GET → 204. Fetched by the engine worker while a request runs, to keep the service worker awake. */
export const KEEP_ALIVE_PATH = '/localtext/keep-alive';

/** Interval in milliseconds: browsers stop a service worker that heard nothing for 30 s. */
export const KEEP_ALIVE_MS = 10_000;

/** POST `?model=<id>` → a `LoadLine` of JSON a line, until the model is in memory. */
export const LOAD_PATH = '/localtext/load';

/** Content type of the lines. A host that answers in the service worker's place has another. */
export const LINES_TYPE = 'application/x-ndjson';

export type LoadLine =
  { type: 'progress'; progress: LoadProgress } | { type: 'loaded' } | { type: 'error'; error: WireError };

/** GET → the `EngineStatus`; 204 while no engine answers. */
export const STATUS_PATH = '/localtext/status';

/** Characters of a name in a path's query or a command: of a model, a variant, a file or a place. */
export const MAX_NAME_LENGTH = 1024;
