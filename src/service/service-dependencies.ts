import type { Accepted, ChatEvent, ChatJob, EmbeddingJob, EmbeddingResult } from '../protocol/job.ts';

/** All that the service is given; everything else is computed from the request. */
export interface ServiceDependencies {
  engine: EngineClient;
  keys: KeyStore;
  models: ModelDirectory;
  /** Milliseconds since 1970. */
  now(): number;
}

/** How jobs reach an engine, wherever it is. */
export interface EngineClient {
  /**
   * Yields `accepted`, deltas and `done`. Aborting the signal, or returning the iterator, frees the engine.
   * `onWaiting` tells why nothing has come yet.
   * @throws ServiceError
   */
  chat(job: ChatJob, options: EngineRequestOptions): AsyncIterable<ChatEvent>;
  embed(job: EmbeddingJob, options: EngineRequestOptions): Promise<EmbeddingResult>;
}

export interface EngineRequestOptions {
  /** The request's id, also its `x-request-id`; one choice of several has `-<index>` after it. */
  id: string;
  signal: AbortSignal;
  onWaiting?(stage: 'queued' | 'loading' | 'prefill'): void;
}

export type { Accepted };

export interface ModelDirectory {
  /** Every model, in the order in which they are listed. */
  list(): Promise<ModelEntry[]>;
}

export interface ModelEntry {
  id: string;
  kind: 'chat' | 'embedding';
  created: number;
  ownedBy: string;
}

export interface KeyStore {
  /**
   * Checks a bearer token, and for chat takes one request from its rate limit.
   * Never throws for a bad key: says why instead.
   */
  admit(token: string, purpose: 'chat' | 'other'): Promise<Admission>;
  /** Counts a finished chat's tokens against the key's limit. */
  settle(keyId: string, tokens: number): Promise<void>;
}

export type Admission =
  | { admitted: true; keyId: string; label: string; models: string[] | null; limits: LimitState | null }
  | { admitted: false; reason: 'malformed' | 'unknown' | 'revoked' | 'expired' }
  | {
      admitted: false;
      reason: 'rate_limited';
      limits: LimitState;
      retryAfterMs: number;
      exceeded: 'requests' | 'tokens';
    };

/** For the `x-ratelimit-*` headers. */
export interface LimitState {
  requests: { limit: number; remaining: number; resetMs: number };
  tokens: { limit: number; remaining: number; resetMs: number };
}
