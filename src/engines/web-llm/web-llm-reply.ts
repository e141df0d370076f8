import type { ChatCompletionChunk, Completion } from '@mlc-ai/web-llm';

import type { ChatTimings, Delta, TokenLogprob } from '#jobs';
import type { Pipeline } from './internals/pipeline-watch.ts';

export type Chunk = ChatCompletionChunk | Completion;

type Entry = ReturnType<Pipeline['getTokenLogprobArray']>[number];

/** Methods of the pipeline that a reply is read from. */
type ReplyState = Pick<
  Pipeline,
  'getMessage' | 'getTokenLogprobArray' | 'getCurRoundCompletionTotalTokens' | 'stopped'
>;

/** OpenAI's value for a token of probability 0, as JSON has no -Infinity. */
const MIN_LOGPROB = -9999;

/** Reads deltas from the accumulated text: web-llm's chunks lose log probabilities if a character spans tokens. */
export class WebLlmReplyReader {
  finishReason: 'stop' | 'length' = 'stop';
  completionTokens = 0;
  readonly #topLogprobs: number | undefined;
  #text = 0;
  #tokens = 0;

  constructor(topLogprobs: number | undefined) {
    this.#topLogprobs = topLogprobs;
  }

  /** Returns what was generated since the last call; null if nothing can be shown yet. */
  read({ usage, choices: [choice] }: Chunk, state: ReplyState | null): Delta | null {
    if (usage) this.completionTokens = usage.completion_tokens;
    if (choice?.finish_reason === 'length') this.finishReason = 'length';
    return choice && state ? this.#added(state) : null;
  }

  #added(state: ReplyState): Delta | null {
    // An incomplete character decodes to replacement characters: withhold them until the rest arrives.
    const text = state.getMessage().replace(/(?<!�)�+$/, '');
    const fresh = text.slice(this.#text);
    const sampled = state.getCurRoundCompletionTotalTokens();
    const ended = state.stopped();
    // The count includes the token that ends the turn, which is not part of the reply.
    const shown = ended && this.finishReason === 'stop' ? sampled - 1 : sampled;
    if (fresh === '' && !(ended && shown > this.#tokens)) return null;
    const tokens = Math.max(0, shown - this.#tokens);
    const delta: Delta = { text: fresh, tokens };
    if (this.#topLogprobs !== undefined) {
      const entries = state.getTokenLogprobArray().slice(this.#tokens, shown);
      delta.logprobs = entries.map((entry) => this.#logprob(entry));
    }
    this.#text = Math.max(this.#text, text.length);
    this.#tokens += tokens;
    return delta;
  }

  #logprob(entry: Entry): TokenLogprob {
    return { ...plain(entry), top: entry.top_logprobs.slice(0, this.#topLogprobs).map(plain) };
  }
}

const plain = ({ token, logprob, bytes }: Pick<Entry, 'token' | 'logprob' | 'bytes'>) => ({
  token,
  logprob: Math.max(MIN_LOGPROB, logprob),
  bytes,
});

export const timingsOf = (pipeline: Pipeline | null): ChatTimings => ({
  prefillMs: (pipeline?.getCurRoundPrefillTotalTime() ?? 0) * 1000,
  decodeMs: (pipeline?.getCurRoundDecodingTotalTime() ?? 0) * 1000,
});
