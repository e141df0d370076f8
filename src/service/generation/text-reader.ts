import type { EngineFinishReason, TokenLogprob } from '../../protocol/job.ts';
import { LogprobQueue } from './logprob-queue.ts';
import type { ReplyPart, ReplyReader } from './reply-event.ts';
import { StopSequences } from './stop-sequences.ts';

/** Reads text up to a stop sequence, or up to the beginning of a call. */
export class TextReader implements ReplyReader {
  ended: 'stop' | 'call' | null = null;
  readonly #stop: readonly string[];
  readonly #stops: StopSequences;
  readonly #logprobs = new LogprobQueue();

  constructor(stop: readonly string[], callPrefixes: readonly string[] = []) {
    this.#stop = stop;
    this.#stops = new StopSequences([...stop, ...callPrefixes]);
  }

  push(text: string, logprobs: readonly TokenLogprob[] = []): ReplyPart[] {
    this.#logprobs.push(logprobs);
    const shown = this.#stops.push(text);
    if (shown.stop !== null) this.ended = this.#stop.includes(shown.stop) ? 'stop' : 'call';
    const isMore = this.#stops.withholds || shown.stop !== null;
    return toParts(shown.text, this.#logprobs.take(shown.text, isMore));
  }

  flush(): ReplyPart[] {
    return toParts(this.#stops.flush(), this.#logprobs.rest());
  }

  finishReason(reason: EngineFinishReason): EngineFinishReason {
    return reason;
  }
}

const toParts = (text: string, logprobs: TokenLogprob[]): ReplyPart[] =>
  text === '' && logprobs.length === 0 ? [] : [{ type: 'text', text, logprobs }];
