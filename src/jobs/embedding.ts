import type { AnyJob, Timings } from './any-job.ts';

export interface EmbeddingJob extends AnyJob {
  kind: 'embedding';
  /** Typed arrays pass between threads in a fifth of the time that arrays take. */
  input: { texts: string[] } | { tokens: Float64Array[] };
  /** Length of the vectors, for models trained for truncation. Default: the model's own. */
  dimensions?: number;
  /** Role of the texts, for models with task prefixes: `query` or `document`. */
  inputType?: string;
  /** Set if the first text is a query, and the others are documents. These are cut if they are too long. */
  ranks?: { maxTokens: number };
}

export interface EmbeddingResult {
  /** One L2-normalised vector per input, in order. */
  vectors: Float32Array<ArrayBuffer>[];
  promptTokens: number;
  fingerprint: string;
  timings?: Timings;
}

/** Cosine of two vectors of length 1. */
export const cosine = (a: Float32Array, b: Float32Array | undefined): number =>
  a.reduce((sum, value, at) => sum + value * (b?.[at] ?? 0), 0);

/** Event of an embedding job, which returns all vectors at once. */
export type EmbeddingEvent = { type: 'done' } & EmbeddingResult;
