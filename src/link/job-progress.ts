import { engineLost } from '#base';
import {
  repeats,
  type ChatEvent,
  type ChatJob,
  type Delta,
  type EventOf,
  type JobOf,
  type Kind,
} from '#jobs';

/** The received part of an answer, so that the next engine can continue it if one ends. */
export interface JobProgress<K extends Kind> {
  /** Parts that the client has been given. */
  readonly deltas: number;
  /** The job for the next engine; null when nothing is left to ask. */
  nextJob(): JobOf<K> | null;
  /** The event as the client should see it; null if the client has seen it already. @throws ServiceError */
  note(event: EventOf<K>): EventOf<K> | null;
  /** The event that ends the answer if nothing is left to ask. */
  lastEvent?(): EventOf<K>;
}

const PROGRESS: { [K in Kind]: (job: JobOf<K>) => JobProgress<K> } = {
  chat: (job) => new ChatProgress(job),
  embedding: whole,
  rerank: whole,
  toolChoice: whole,
  transcription: (job) => new PartProgress(job),
  speech: (job) => new PartProgress(job),
  decision: ({ request: _request, ...job }) => new PartProgress(job),
};

/** An answer of one event starts over. */
function whole<K extends 'embedding' | 'rerank' | 'toolChoice'>(job: JobOf<K>): JobProgress<K> {
  return { deltas: 0, nextJob: () => job, note: (event) => event };
}

export const trackProgress = <K extends Kind>(kind: K, job: JobOf<K>): JobProgress<K> => PROGRESS[kind](job);

/** The received parts of an answer, each of which says how the next engine continues after it. */
class PartProgress<Progress, Job extends { progress?: Progress }> {
  deltas = 0;
  #job: Job;

  constructor(job: Job) {
    this.#job = job;
  }

  nextJob(): Job {
    return this.#job;
  }

  note<Event extends { type: string; progress?: Progress }>(event: Event): Event {
    if (event.type !== 'delta') return event;
    this.deltas++;
    if (event.progress) this.#job = { ...this.#job, progress: event.progress };
    return event;
  }
}

/**
 * The received part of a chat, so that the next engine can continue it and every token is counted once. Plain
 * text is continued. A reply with a prescribed form or log probabilities is generated again from its start,
 * and the part that the client has is checked and left out: the state of a grammar cannot be handed over.
 */
class ChatProgress implements JobProgress<'chat'> {
  readonly #job: ChatJob;
  #text = '';
  #thoughts = '';
  #tokens = 0;
  #logprobs = 0;
  /** Deltas that the client has been given. */
  deltas = 0;
  #promptTokens: number | null = null;
  /** Tokens from earlier engines, which the current engine does not count. */
  #earlierTokens = 0;
  #replay: Replay | null = null;

  constructor(job: ChatJob) {
    this.#job = repeats(job) ? withSeed(job) : job;
  }

  /** Whether every requested token has arrived; only the engine's last event has not. */
  get #isComplete(): boolean {
    const { maxTokens, countOnly } = this.#job;
    return !countOnly && maxTokens !== undefined && this.#tokens >= maxTokens;
  }

  /** The job for the next engine; null when every token has arrived. */
  nextJob(): ChatJob | null {
    if (this.#isComplete) return null;
    if (this.deltas === 0) return this.#job;
    if (repeats(this.#job)) {
      this.#replay = new Replay({
        text: this.#thoughts + this.#text,
        tokens: this.#tokens,
        logprobs: this.#logprobs,
      });
      return this.#job;
    }
    this.#earlierTokens = this.#tokens;
    const thoughts = { text: this.#thoughts, ended: this.#text !== '' };
    const job: ChatJob = {
      ...this.#job,
      ...(this.#thoughts !== '' && { thoughts }),
      resume: { text: (this.#job.resume?.text ?? '') + this.#text, tokens: this.#tokens },
    };
    if (job.maxTokens !== undefined) job.maxTokens -= this.#tokens;
    return job;
  }

  /**
   * The event as the client should see it; null if the client has seen it already.
   * @throws ServiceError `engine_lost` when the next engine generates another text than the last one
   */
  note(event: ChatEvent): ChatEvent | null {
    switch (event.type) {
      case 'accepted':
        if (this.#promptTokens !== null) return null;
        this.#promptTokens = event.accepted.promptTokens;
        return event;
      case 'delta': {
        const delta = this.#replay ? this.#replay.rest(event.delta) : event.delta;
        if (!delta) return null;
        this.#count(delta);
        return { type: 'delta', delta };
      }
      case 'done':
        if (this.#replay && !this.#replay.over)
          throw engineLost('This reply was interrupted, and its repetition ended earlier');
        return this.#earlierTokens > 0 ? this.#addUp(event) : event;
    }
  }

  /** The event that the engine would have sent last. */
  lastEvent(): ChatEvent {
    return {
      type: 'done',
      finishReason: 'length',
      usage: { promptTokens: this.#promptTokens ?? 0, cachedTokens: 0, completionTokens: this.#tokens },
      timings: { prefillMs: 0, decodeMs: 0 },
    };
  }

  #count({ text, tokens, isReasoning, logprobs }: Delta): void {
    if (isReasoning) this.#thoughts += text;
    else this.#text += text;
    this.#tokens += tokens;
    this.#logprobs += logprobs?.length ?? 0;
    this.deltas++;
  }

  #addUp(event: Extract<ChatEvent, { type: 'done' }>): ChatEvent {
    const promptTokens = this.#promptTokens ?? event.usage.promptTokens;
    const usage = {
      promptTokens,
      cachedTokens: Math.min(event.usage.cachedTokens, promptTokens),
      completionTokens: this.#earlierTokens + event.usage.completionTokens,
    };
    return { ...event, usage };
  }
}

/**
 * Gives the job a seed, so that it can be repeated: above temperature 0 only the same seed gives the same
 * text.
 */
function withSeed(job: ChatJob): ChatJob {
  const { sampling } = job;
  if (sampling.temperature === 0 || sampling.seed !== undefined) return job;
  const [seed = 0] = crypto.getRandomValues(new Uint32Array(1));
  return { ...job, seeded: true, sampling: { ...sampling, seed: seed >>> 1 } };
}

/** Beginning of a reply that the client has already, and that is being generated a second time. */
interface Known {
  text: string;
  tokens: number;
  logprobs: number;
}

/** Separates the new part of a regenerated reply from the part that the client already has. */
class Replay {
  readonly #known: Known;
  #text = 0;
  #tokens = 0;
  #logprobs = 0;

  constructor(known: Known) {
    this.#known = known;
  }

  /** Whether all of the known part has been regenerated. */
  get over(): boolean {
    const { text, tokens } = this.#known;
    return this.#text >= text.length && this.#tokens >= tokens;
  }

  /**
   * Part of a delta that is new; null: none.
   * @throws ServiceError `engine_lost` when it differs from the known part.
   */
  rest(delta: Delta): Delta | null {
    if (this.over) return delta;
    const known = this.#known;
    const again = known.text.slice(this.#text, this.#text + delta.text.length);
    if (!delta.text.startsWith(again))
      throw engineLost('This reply was interrupted, and its repetition differs');
    const logprobs = delta.logprobs?.slice(Math.max(0, known.logprobs - this.#logprobs));
    const text = delta.text.slice(again.length);
    this.#text += delta.text.length;
    this.#tokens += delta.tokens;
    this.#logprobs += delta.logprobs?.length ?? 0;
    const tokens = Math.min(delta.tokens, Math.max(0, this.#tokens - known.tokens));
    if (text === '' && tokens === 0 && !logprobs?.length) return null;
    return { ...delta, text, tokens, ...(logprobs && { logprobs }) };
  }
}
