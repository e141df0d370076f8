import type { ChatEvent, ChatJob } from '../protocol/job.ts';
import { engineLost } from './engine-errors.ts';

/** What has come of a chat, so that the next engine can go on from there and everything is counted once. */
export class ChatProgress {
  readonly #job: ChatJob;
  #text = '';
  #tokens = 0;
  #deltas = 0;
  #promptTokens: number | null = null;
  /** Tokens that came before the present engine. */
  #earlierTokens = 0;

  constructor(job: ChatJob) {
    this.#job = job;
  }

  get deltas(): number {
    return this.#deltas;
  }

  /** Every token that was asked for has come, only the engine's last word has not. */
  get complete(): boolean {
    return this.#job.maxTokens !== undefined && this.#tokens >= this.#job.maxTokens;
  }

  /**
   * The job for the next engine.
   * @throws ServiceError `engine_lost` when it could not go on where the last one stopped.
   */
  nextJob(): ChatJob {
    if (this.#deltas === 0) return this.#job;
    if (this.#job.constraint) throw engineLost('a reply of a prescribed form cannot be continued by another');
    if (this.#job.topLogprobs !== undefined) {
      throw engineLost('a reply with log probabilities cannot be continued by another');
    }
    this.#earlierTokens = this.#tokens;
    const job: ChatJob = { ...this.#job, resume: { text: this.#text, tokens: this.#tokens } };
    if (job.maxTokens !== undefined) job.maxTokens -= this.#tokens;
    return job;
  }

  /** The event as the client should see it; null for what it has seen already. */
  note(event: ChatEvent): ChatEvent | null {
    switch (event.type) {
      case 'accepted':
        if (this.#promptTokens !== null) return null;
        this.#promptTokens = event.accepted.promptTokens;
        return event;
      case 'delta':
        this.#text += event.delta.text;
        this.#tokens += event.delta.tokens;
        this.#deltas += 1;
        return event;
      case 'done':
        return this.#earlierTokens > 0 ? this.#addUp(event) : event;
    }
  }

  /** What the engine would have said last. */
  lastWord(): ChatEvent {
    return {
      type: 'done',
      finishReason: 'length',
      usage: { promptTokens: this.#promptTokens ?? 0, cachedTokens: 0, completionTokens: this.#tokens },
      timings: { queueMs: 0, prefillMs: 0, decodeMs: 0 },
    };
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
