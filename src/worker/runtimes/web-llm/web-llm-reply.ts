import type { Delta, TokenLogprob } from '../../../protocol/job.ts';
import type { Pipeline } from './pipeline-watch.ts';

type Entry = ReturnType<Pipeline['getTokenLogprobArray']>[number];

/** The part of the pipeline's state that a reply is read from. */
export type ReplyState = Pick<
  Pipeline,
  'getMessage' | 'getTokenLogprobArray' | 'getCurRoundCompletionTotalTokens' | 'stopped'
>;

/** JSON has no -Infinity. OpenAI gives this for a token of probability 0. */
const MIN_LOGPROB = -9999;

/** Reads deltas from the text so far: web-llm's own chunks lose log probabilities where a character spans tokens. */
export class ReplyReader {
  readonly #topLogprobs: number | undefined;
  #text = 0;
  #tokens = 0;

  constructor(topLogprobs: number | undefined) {
    this.#topLogprobs = topLogprobs;
  }

  /** What is new since the last call; null: nothing that can be shown. */
  read(state: ReplyState, finish: 'stop' | 'length'): Delta | null {
    // Bytes that end inside a character decode to replacement characters: they wait for the rest.
    const text = state.getMessage().replace(/�+$/, '');
    const fresh = text.slice(this.#text);
    const sampled = state.getCurRoundCompletionTotalTokens();
    const ended = state.stopped();
    // The token that ends a turn is counted by it, but is no part of the reply.
    const shown = ended && finish === 'stop' ? sampled - 1 : sampled;
    if (fresh === '' && !(ended && shown > this.#tokens)) return null;
    const tokens = Math.max(0, shown - this.#tokens);
    const delta: Delta = { text: fresh, tokens };
    if (this.#topLogprobs !== undefined) {
      delta.logprobs = state
        .getTokenLogprobArray()
        .slice(this.#tokens, shown)
        .map((entry) => this.#logprob(entry));
    }
    this.#text = Math.max(this.#text, text.length);
    this.#tokens += tokens;
    return delta;
  }

  #logprob(entry: Entry): TokenLogprob {
    return { ...plain(entry), top: entry.top_logprobs.slice(0, this.#topLogprobs).map(plain) };
  }
}

function plain({ token, logprob, bytes }: Pick<Entry, 'token' | 'logprob' | 'bytes'>) {
  return { token, logprob: Math.max(MIN_LOGPROB, logprob), bytes };
}
