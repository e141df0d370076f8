import type { ChatCompletionChunk, Completion, MLCEngine } from '@mlc-ai/web-llm';

import type { ChatJob, ChatTimings, Delta, TokenLogprob, Events } from '#jobs';
import {
  CountedError,
  type Pipeline,
  type PipelineWatch,
  type PromptCount,
} from './internals/pipeline-watch.ts';
import type { Engine, LoadedTraits } from '#engine-kit';
import { createDeferred, deviceLost } from '#base';
import {
  ClientText,
  refuseOversized,
  asksToThink,
  openReply,
  ThinkFirst,
  toCompletion,
  thinkTags,
  type Append,
  type Complete,
  type ThinkTags,
} from '#chat-template';
import { asJobFailure } from './web-llm-failures.ts';
import type { MlcChatConfig } from './web-llm-files.ts';
import { toWebLlmRequest } from './web-llm-request.ts';

type Entry = ReturnType<Pipeline['getTokenLogprobArray']>[number];

/** Methods of the pipeline that a reply is read from. */
export type ReplyState = Pick<
  Pipeline,
  'getMessage' | 'getTokenLogprobArray' | 'getCurRoundCompletionTotalTokens' | 'stopped'
>;

/** OpenAI's value for a token of probability 0, as JSON has no -Infinity. */
const MIN_LOGPROB = -9999;

/** Reads deltas from the accumulated text: web-llm's chunks lose log probabilities if a character spans tokens. */
class WebLlmReplyReader {
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

type Chunk = ChatCompletionChunk | Completion;

export interface WebLlmParts {
  engine: MLCEngine;
  watch: PipelineWatch;
  chatConfig: MlcChatConfig;
  /** Texts of special tokens, which no text of a caller may become. */
  reserved: readonly string[];
  fingerprint: string;
  /** Context length that the model was loaded with. */
  contextLength: number;
  replyPrefix?: string;
  /** Resolves when the GPU is lost. */
  lost: Promise<unknown>;
}

/** Adapts web-llm to `Engine`. */
export class WebLlmChatEngine implements Engine<'chat'> {
  readonly kind = 'chat';
  readonly slots = 1;
  readonly traits: LoadedTraits;
  readonly fingerprint: string;
  /** Tags of the empty reasoning that its replies begin with; null if they begin with none. */
  readonly #tags: ThinkTags | null;
  readonly #parts: WebLlmParts;
  readonly #clientText: ClientText;
  readonly #lost: Promise<never>;
  #isLost = false;

  constructor(parts: WebLlmParts) {
    this.#parts = parts;
    this.#clientText = new ClientText(parts.reserved);
    this.fingerprint = parts.fingerprint;
    this.#tags = thinkTags(parts.replyPrefix ?? '');
    this.traits = { contextLength: parts.contextLength, thinks: this.#tags !== null };
    this.#lost = parts.lost.then(() => {
      this.#isLost = true;
      throw deviceLost();
    });
    this.#lost.catch(() => undefined);
  }

  /** Runs a job. If it asks for reasoning, the reply does not begin with empty reasoning: the model writes it. */
  run(job: ChatJob, signal: AbortSignal, onPrefill?: () => void): Events<'chat'> {
    const { kind, model, input, sampling, reasoning, thoughts, countOnly } = job;
    const count = countOnly && { countOnly };
    const begins = 'messages' in input && input.messages.at(-1)?.role !== 'assistant';
    if (!this.#tags || !begins || !(thoughts || asksToThink(reasoning)))
      return this.#generate(job, this.#parts.replyPrefix, signal, onPrefill);
    const complete: Complete = ({ prompt: replyStart, ...part }) =>
      this.#generate({ kind, model, input, sampling, ...count, ...part }, replyStart, signal, onPrefill);
    const { prompt, thinking } = openReply('', this.#tags, job, true, this.#clientText);
    if (!thinking) return complete(toCompletion(job, prompt));
    const append: Append = (start, text, allowed) => this.#clientText.append(start, text, allowed);
    return new ThinkFirst(job, prompt, thinking, complete, append).events(this.#parts.contextLength);
  }

  async *#generate(
    job: ChatJob,
    replyPrefix: string | undefined,
    signal: AbortSignal,
    onPrefill?: () => void,
  ): Events<'chat'> {
    signal.throwIfAborted();
    if (this.#isLost) throw deviceLost();
    refuseOversized(job.input, this.#parts.contextLength);
    const { engine, watch } = this.#parts;
    const { input, replyStart } = toWebLlmRequest(job, this.#parts.chatConfig, this.#clientText, replyPrefix);

    let prompt: PromptCount = { whole: 0, cached: 0 };
    const counted = createDeferred();
    const onPrompt = (count: PromptCount): void => {
      prompt = count;
      counted.resolve();
      if (!job.countOnly) onPrefill?.();
    };
    watch.begin({ replyStart, signal, countOnly: job.countOnly === true, onPrompt });
    const interrupt = (): void => void engine.interruptGenerate();
    signal.addEventListener('abort', interrupt, { once: true });
    const stream: AsyncIterable<Chunk> =
      'chat' in input
        ? await engine.chat.completions.create(input.chat)
        : await engine.completions.create(input.completion);
    const chunks = stream[Symbol.asyncIterator]();
    let ended = false;
    const next = async (): Promise<IteratorResult<Chunk>> => {
      const result = await Promise.race([chunks.next(), this.#lost]);
      ended = result.done === true;
      return result;
    };

    try {
      const first = next();
      // With a grammar, wait for the first chunk: web-llm compiles the grammar after it has computed the prompt.
      await (job.constraint || job.countOnly ? first : Promise.race([counted.promise, first]));
      const { whole: promptTokens, cached: cachedTokens } = prompt;
      yield { type: 'accepted', accepted: { promptTokens, cachedTokens, fingerprint: this.fingerprint } };

      const reader = new WebLlmReplyReader(job.topLogprobs);
      for (let result = await first; !result.done; result = await next()) {
        if (signal.aborted) continue;
        const delta = reader.read(result.value, watch.pipeline);
        if (delta) yield { type: 'delta', delta };
      }
      signal.throwIfAborted();
      const { finishReason, completionTokens } = reader;
      yield {
        type: 'done',
        finishReason,
        usage: { promptTokens: prompt.whole, cachedTokens: prompt.cached, completionTokens },
        timings: this.#timings(),
      };
    } catch (error) {
      ended = true;
      signal.throwIfAborted();
      if (this.#isLost) throw deviceLost(error);
      if (!(error instanceof CountedError)) throw asJobFailure(error, prompt.cached);
      yield { type: 'accepted', accepted: { promptTokens: prompt.whole, fingerprint: this.fingerprint } };
    } finally {
      signal.removeEventListener('abort', interrupt);
      if (!ended) await this.#drain(chunks);
    }
  }

  /** Reads the iterator to its end: web-llm holds the model's lock until then. */
  async #drain(chunks: AsyncIterator<Chunk>): Promise<void> {
    await this.#parts.engine.interruptGenerate();
    try {
      while (!(await Promise.race([chunks.next(), this.#lost])).done);
    } catch {
      // The lock is also released after a failure.
    }
  }

  #timings(): ChatTimings {
    const { pipeline } = this.#parts.watch;
    return {
      prefillMs: (pipeline?.getCurRoundPrefillTotalTime() ?? 0) * 1000,
      decodeMs: (pipeline?.getCurRoundDecodingTotalTime() ?? 0) * 1000,
    };
  }

  async unload(): Promise<void> {
    // web-llm unloads the model when the GPU is lost. A second unload would fail.
    if (!this.#isLost) await this.#parts.engine.unload();
  }
}
