import type { AnyJob, Timings } from './any-job.ts';
import { cosine } from './embedding.ts';

export interface RerankJob extends AnyJob {
  kind: 'rerank';
  query: string;
  documents: string[];
  /** Maximum tokens of each document. Default: what the model's context holds. */
  maxTokens?: number;
}

/** Event of a reranking job, which returns all scores at once. */
export interface RerankEvent {
  type: 'done';
  /** One score per document, in order. A higher one is more relevant. */
  scores: number[];
  promptTokens: number;
  fingerprint: string;
  timings?: Timings;
}

/**
 * Similarity of the first vector, a query's, with each of the others: cosines, and 0 for texts that point away from
 * each other. @param vectors of length 1
 */
export const similarities = ([query, ...documents]: readonly Float32Array[]): number[] =>
  documents.map((vector) => Math.min(1, Math.max(0, cosine(vector, query))));
