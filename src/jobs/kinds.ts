import type { AnyJob } from './any-job.ts';
import type { ChatEvent, ChatJob } from './chat.ts';
import type { DecisionEvent, DecisionJob } from './decision.ts';
import type { EmbeddingEvent, EmbeddingJob } from './embedding.ts';
import type { TranscriptionEvent, TranscriptionJob } from './transcription.ts';

/** Jobs of an engine, and their events (any number, and `done` last). */
export interface JobKinds {
  chat: { job: ChatJob; event: ChatEvent };
  embedding: { job: EmbeddingJob; event: EmbeddingEvent };
  transcription: { job: TranscriptionJob; event: TranscriptionEvent };
  decision: { job: DecisionJob; event: DecisionEvent };
}

export type Kind = keyof JobKinds;

/** The job of a kind. The intersection lets the compiler infer the kind from a job. */
export type JobOf<K extends Kind> = JobKinds[K]['job'] & { kind: K };
export type EventOf<K extends Kind> = JobKinds[K]['event'];
/** The events of one job, as an engine yields them. */
export type Events<K extends Kind> = AsyncGenerator<EventOf<K>, void, undefined>;

/** The job with a limit on who may answer it. */
export const withJobLimits = <J extends AnyJob, Limit extends Partial<AnyJob>>(
  job: J,
  limit: Limit,
): J & Limit => ({ ...job, ...limit });

export type Job = JobKinds[Kind]['job'];
export type JobEvent = EventOf<Kind>;

interface KindFacts {
  /** The kind in an error message. */
  noun: string;
  /** Name of the ability in GET /v1/models. */
  capability: string;
  /** The kinds of models that can answer. Each is the kind of the jobs that its engine runs by itself. */
  models: readonly Kind[];
  /** An engine mixes the inputs of all requests into its batches: a queue before it gains nothing. */
  isBatched?: true;
}

export const KINDS = {
  chat: { noun: 'a chat', capability: 'chat', models: ['chat'] },
  embedding: { noun: 'an embedding', capability: 'embeddings', models: ['embedding'], isBatched: true },
  transcription: { noun: 'a transcription', capability: 'transcription', models: ['transcription'] },
  decision: { noun: 'a decision', capability: 'decisions', models: ['chat', 'embedding'] },
} as const satisfies Record<Kind, KindFacts>;

/** The kinds of models that can answer jobs of a kind. */
export type ModelOf<K extends Kind> = (typeof KINDS)[K]['models'][number];
export type ModelKind = ModelOf<Kind>;

/** Whether models of one kind answer jobs of another. */
export const answers = (model: ModelKind, job: Kind): boolean =>
  KINDS[job].models.some((each) => each === model);
