import type { AnyJob } from './any-job.ts';
import type { ChatEvent, ChatJob } from './chat.ts';
import type { EmbeddingEvent, EmbeddingJob } from './embedding.ts';
import type { TranscriptionEvent, TranscriptionJob } from './transcription.ts';

/** What each kind of model is asked, and what its engine yields for it: any number of events, and `done` last. */
export interface JobKinds {
  chat: { job: ChatJob; event: ChatEvent };
  embedding: { job: EmbeddingJob; event: EmbeddingEvent };
  transcription: { job: TranscriptionJob; event: TranscriptionEvent };
}

export type Kind = 'chat' | 'embedding' | 'transcription';

/** The job of a kind. The intersection lets the compiler infer the kind from a job. */
export type JobOf<K extends Kind> = JobKinds[K]['job'] & { kind: K };
export type EventOf<K extends Kind> = JobKinds[K]['event'];

/** The job with a limit on who may answer it. */
export const limited = <J extends AnyJob, Limit extends Partial<AnyJob>>(
  job: J,
  limit: Limit,
): J & Limit => ({
  ...job,
  ...limit,
});

export type Job = JobKinds[Kind]['job'];
export type JobEvent = EventOf<Kind>;

interface KindFacts {
  /** The kind in an error message. */
  noun: string;
  /** What every model of the kind can do, in GET /v1/models. */
  capability: string;
  /** An engine mixes the inputs of all requests into its batches: a queue before it gains nothing. */
  isBatched?: true;
}

export const KINDS = {
  chat: { noun: 'a chat', capability: 'chat' },
  embedding: { noun: 'an embedding', capability: 'embeddings', isBatched: true },
  transcription: { noun: 'a transcription', capability: 'transcription' },
} as const satisfies Record<Kind, KindFacts>;
