/** Fields of every job. */
export interface AnyJob {
  /** Id in the catalog; aliases are already resolved. */
  model: string;
  /** Forbids upstream servers, as the text must not leave the browser. */
  deviceOnly?: boolean;
  /** Names of the device's variants that may answer. Default: all. */
  variants?: string[];
  /** Id of the client, with which an engine lets clients take turns. Set by the engine worker. */
  client?: string;
}

/** Durations of a job's steps, in milliseconds. */
export interface Timings {
  queueMs?: number;
  /** Time of an engine that does not tell its steps. */
  computeMs?: number;
  prefillMs?: number;
  decodeMs?: number;
}
