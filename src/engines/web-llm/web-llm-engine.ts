import type { MLCEngine } from '@mlc-ai/web-llm';

import type { ChatJob, Events } from '#jobs';
import { CountedError, type PipelineWatch, type PromptCount } from './internals/pipeline-watch.ts';
import type { Engine } from '#engine-kit';
import { createDeferred, deviceLost } from '#base';
import {
  type ClientText,
  refuseOversized,
  asksToThink,
  openReply,
  thinkFirst,
  toCompletion,
  thinkTags,
  type Append,
  type Complete,
} from '#chat-template';
import { asJobFailure } from './web-llm-failures.ts';
import type { MlcChatConfig } from './web-llm-files.ts';
import { timingsOf, WebLlmReplyReader, type Chunk } from './web-llm-reply.ts';
import { toWebLlmRequest } from './web-llm-request.ts';

export interface WebLlmParts {
  engine: MLCEngine;
  watch: PipelineWatch;
  chatConfig: MlcChatConfig;
  clientText: ClientText;
  fingerprint: string;
  /** Context length that the model was loaded with. */
  contextLength: number;
  replyPrefix?: string;
  /** Resolves when the GPU is lost. */
  lost: Promise<unknown>;
}

/** Adapts web-llm to `Engine`. */
export function webLlmEngine(parts: WebLlmParts): Engine<'chat'> {
  const { fingerprint, contextLength, chatConfig, replyPrefix: ownPrefix, engine, watch, clientText } = parts;
  let isLost = false;
  /** Tags of the empty reasoning that its replies begin with; null if they begin with none. */
  const tags = thinkTags(ownPrefix ?? '');
  const lost = parts.lost.then(() => {
    isLost = true;
    throw deviceLost();
  });
  lost.catch(() => undefined);

  async function* generate(
    job: ChatJob,
    replyPrefix: string | undefined,
    signal: AbortSignal,
    onPrefill?: () => void,
  ): Events<'chat'> {
    signal.throwIfAborted();
    if (isLost) throw deviceLost();
    refuseOversized(job, contextLength);
    const { input, replyStart } = toWebLlmRequest(job, chatConfig, clientText, replyPrefix);

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
      const result = await Promise.race([chunks.next(), lost]);
      ended = result.done === true;
      return result;
    };

    try {
      const first = next();
      // With a grammar, wait for the first chunk: web-llm compiles the grammar after it has computed the prompt.
      await (job.constraint || job.countOnly ? first : Promise.race([counted.promise, first]));
      const { whole: promptTokens, cached: cachedTokens } = prompt;
      yield { type: 'accepted', accepted: { promptTokens, cachedTokens, fingerprint } };

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
        timings: timingsOf(watch.pipeline),
      };
    } catch (error) {
      ended = true;
      signal.throwIfAborted();
      if (isLost) throw deviceLost(error);
      if (!(error instanceof CountedError)) throw asJobFailure(error, prompt.cached);
      yield { type: 'accepted', accepted: { promptTokens: prompt.whole, fingerprint } };
    } finally {
      signal.removeEventListener('abort', interrupt);
      if (!ended) await drain(chunks);
    }
  }

  /** Reads the iterator to its end: web-llm holds the model's lock until then. */
  async function drain(chunks: AsyncIterator<Chunk>): Promise<void> {
    await engine.interruptGenerate();
    try {
      while (!(await Promise.race([chunks.next(), lost])).done);
    } catch {
      // The lock is also released after a failure.
    }
  }

  return {
    kind: 'chat',
    slots: 1,
    traits: { contextLength, thinks: tags !== null },
    fingerprint,
    /** Runs a job. If it asks for reasoning, the reply does not begin with empty reasoning: the model writes it. */
    run(job, signal, onPrefill) {
      const { kind, model, input, sampling, reasoning, thoughts, countOnly } = job;
      const count = countOnly && { countOnly };
      const begins = 'messages' in input && input.messages.at(-1)?.role !== 'assistant';
      if (!tags || !begins || !(thoughts || asksToThink(reasoning)))
        return generate(job, ownPrefix, signal, onPrefill);
      const complete: Complete = ({ prompt: replyStart, ...part }) =>
        generate({ kind, model, input, sampling, ...count, ...part }, replyStart, signal, onPrefill);
      const { prompt, thinking } = openReply('', tags, job, true, clientText);
      if (!thinking) return complete(toCompletion(job, prompt));
      const append: Append = (start, text, allowed) => clientText.append(start, text, allowed);
      return thinkFirst(job, prompt, thinking, { complete, append, contextLength });
    },
    async unload() {
      // web-llm unloads the model when the GPU is lost. A second unload would fail.
      if (!isLost) await engine.unload();
    },
  };
}
