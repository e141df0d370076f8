import type { AnyJob } from './any-job.ts';

export interface EmbeddingJob extends AnyJob {
  kind: 'embedding';
  input: { texts: string[] } | { tokens: number[][] };
  /** Length of the vectors, for models trained for truncation. Absent: the model's own. */
  dimensions?: number;
  /** What the texts are to a model with task prefixes: `query` or `document`. */
  inputType?: string;
}

export interface EmbeddingResult {
  /** One L2-normalised vector for each input, in order. */
  vectors: Float32Array<ArrayBuffer>[];
  promptTokens: number;
  fingerprint: string;
  timings: { queueMs: number; computeMs: number };
}

/** All vectors of a job come at once. */
export type EmbeddingEvent = { type: 'done' } & EmbeddingResult;
