import type { LoadProgress } from './control.ts';
import type { WireError } from './wire-error.ts';

/** What the service worker answers beside /v1, for this site's own pages: no key is asked for. */

/** `?model=<id>` → a `LoadLine` of JSON a line, until the model is in memory. */
export const LOAD_PATH = '/localtext/load';

export type LoadLine =
  { type: 'progress'; progress: LoadProgress } | { type: 'loaded' } | { type: 'error'; error: WireError };

/** → the `EngineStatus`, or an error in OpenAI's shape when no tab leads. */
export const STATUS_PATH = '/localtext/status';
