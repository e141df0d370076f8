import type { EventOf, JobOf, Kind } from '../jobs/kinds.ts';
import type { DecisionEvent } from '../jobs/decision.ts';
import type { TranscriptionEvent } from '../jobs/transcription.ts';
import { ChatProgress } from './chat-progress.ts';

/** The received part of an answer, so that the next engine continues it where one dies. */
export interface JobProgress<K extends Kind> {
  /** Parts that the client has been given. */
  readonly deltas: number;
  /** The job for the next engine; null when nothing is left to ask. */
  nextJob(): JobOf<K> | null;
  /** The event as the client should see it; null for what it has seen already. @throws ServiceError */
  note(event: EventOf<K>): EventOf<K> | null;
  /** The event that ends the answer where nothing is left to ask. */
  lastEvent?(): EventOf<K>;
}

const PROGRESS: { [K in Kind]: (job: JobOf<K>) => JobProgress<K> } = {
  chat: (job) => new ChatProgress(job),
  embedding: (job) => ({ deltas: 0, nextJob: () => job, note: (event) => event }),
  transcription: (job) => new TranscriptionParts(job),
  decision: (job) => new DecisionParts(job),
};

export const trackProgress = <K extends Kind>(kind: K, job: JobOf<K>): JobProgress<K> => PROGRESS[kind](job);

/** The next engine continues after the last finished part. */
class TranscriptionParts implements JobProgress<'transcription'> {
  deltas = 0;
  #job: JobOf<'transcription'>;

  constructor(job: JobOf<'transcription'>) {
    this.#job = job;
  }

  nextJob(): JobOf<'transcription'> {
    return this.#job;
  }

  note(event: TranscriptionEvent): TranscriptionEvent {
    if (event.type === 'delta') {
      this.deltas++;
      if (event.progress) this.#job = { ...this.#job, progress: event.progress };
    }
    return event;
  }
}

/** The next engine continues with the first question that has no answer. */
class DecisionParts implements JobProgress<'decision'> {
  deltas = 0;
  #job: JobOf<'decision'>;

  constructor({ request: _request, ...job }: JobOf<'decision'>) {
    this.#job = job;
  }

  nextJob(): JobOf<'decision'> {
    return this.#job;
  }

  note(event: DecisionEvent): DecisionEvent {
    this.deltas++;
    this.#job = { ...this.#job, progress: event.progress };
    return event;
  }
}
