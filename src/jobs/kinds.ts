import type { AnyJob, Timings } from './any-job.ts';
import type { ChatEvent, ChatJob } from './chat.ts';
import type { DecisionEvent, DecisionJob } from './decision.ts';
import type { EmbeddingEvent, EmbeddingJob } from './embedding.ts';
import type { RerankEvent, RerankJob } from './rerank.ts';
import type { SpeechEvent, SpeechJob } from './speech.ts';
import type { ToolChoiceEvent, ToolChoiceJob } from './tool-choice.ts';
import type { TranscriptionEvent, TranscriptionJob } from './transcription.ts';

/** Jobs by kind, with their events (`done` last). */
export interface JobKinds {
  chat: { job: ChatJob; event: ChatEvent };
  embedding: { job: EmbeddingJob; event: EmbeddingEvent };
  transcription: { job: TranscriptionJob; event: TranscriptionEvent };
  decision: { job: DecisionJob; event: DecisionEvent };
  toolChoice: { job: ToolChoiceJob; event: ToolChoiceEvent };
  rerank: { job: RerankJob; event: RerankEvent };
  speech: { job: SpeechJob; event: SpeechEvent };
}

export type Kind = keyof JobKinds;

/** Job of a kind. The intersection lets the compiler infer the kind from a job. */
export type JobOf<K extends Kind> = JobKinds[K]['job'] & { kind: K };
export type EventOf<K extends Kind> = JobKinds[K]['event'];
/** Events of one job, as an engine yields them. */
export type Events<K extends Kind> = AsyncGenerator<EventOf<K>, void, undefined>;

/** Adds to a job fields that every kind has. */
export const withJobFields = <J extends AnyJob, Fields extends Partial<AnyJob>>(
  job: J,
  fields: Fields,
): J & Fields => ({ ...job, ...fields });

/** Adds to a job's last event the times that its engine has not measured. */
export const completeTimings = (last: { timings?: Timings }, queueMs: number, computeMs: number): Timings =>
  (last.timings = { queueMs, ...(last.timings ?? { computeMs }) });

export type Job = JobKinds[Kind]['job'];
export type JobEvent = EventOf<Kind>;

interface KindRow {
  /** Article and name of the kind, for error messages: "Use a chat model." */
  noun: string;
  /** Name of the capability in GET /v1/models. */
  capability: string;
  /** Kinds of models that can answer. A kind of model is named after the jobs that its engine runs natively. */
  models: readonly Kind[];
  /** Set if engines batch the inputs of all requests, which makes a queue unnecessary. */
  isBatched?: true;
}

export const KINDS = {
  chat: { noun: 'a chat', capability: 'chat', models: ['chat'] },
  embedding: { noun: 'an embedding', capability: 'embeddings', models: ['embedding'], isBatched: true },
  transcription: { noun: 'a transcription', capability: 'transcription', models: ['transcription'] },
  speech: { noun: 'speech', capability: 'speech', models: ['speech'] },
  decision: { noun: 'a decision', capability: 'decisions', models: ['chat', 'embedding'] },
  toolChoice: { noun: 'an embedding', capability: 'embeddings', models: ['embedding'], isBatched: true },
  rerank: { noun: 'a reranking', capability: 'rerank', models: ['rerank', 'embedding'], isBatched: true },
} as const satisfies Record<Kind, KindRow>;

/** Kinds of models that can answer a kind of job. */
export type ModelOf<K extends Kind> = (typeof KINDS)[K]['models'][number];
export type ModelKind = ModelOf<Kind>;

/** Whether models of a kind can answer a kind of job. */
export const answers = (model: ModelKind, job: Kind): boolean =>
  KINDS[job].models.some((each) => each === model);

/** Fingerprint of the variant that answers, if the event tells it. */
export function fingerprintOf(event: JobEvent): string | undefined {
  if (event.type === 'accepted' && 'accepted' in event) return event.accepted.fingerprint;
  return 'fingerprint' in event ? event.fingerprint : undefined;
}
