import type { ChatEvent, ChatJob, EngineFinishReason, TokenLogprob } from '../../../protocol/job.ts';
import type { ChatEngine } from '../../engine.ts';
import { badRequest, contextLengthExceeded, EngineError } from '../../../protocol/engine-error.ts';
import { SlotQueue } from '../../models/scheduler.ts';
import type { ChatPrompt } from '../chat-prompt.ts';
import { refuseOversized } from '../prompt-bounds.ts';
import { yieldToEventLoop } from './yield-to-event-loop.ts';
import type { Decoder } from './decoder.ts';
import { Detokenizer } from './detokenizer.ts';
import { asRunFailure } from './failures.ts';
import { logprobOf, Sampler } from './sampler.ts';

/** Generates token by token, one reply at a time. */
export class TransformersChatEngine implements ChatEngine {
  readonly slots = 1;
  readonly fingerprint: string;
  readonly #decoder: Decoder;
  readonly #chatPrompt: ChatPrompt;
  /** An engine that is unloaded waits for the step under way. */
  readonly #turn = new SlotQueue(1);

  constructor(decoder: Decoder, chatPrompt: ChatPrompt, fingerprint: string) {
    this.#decoder = decoder;
    this.#chatPrompt = chatPrompt;
    this.fingerprint = fingerprint;
  }

  async *generate(job: ChatJob, signal: AbortSignal): AsyncGenerator<ChatEvent, void, undefined> {
    const leave = await this.#turn.enter(signal);
    try {
      yield* this.#generate(job, signal);
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      leave();
    }
  }

  async *#generate(job: ChatJob, signal: AbortSignal): AsyncGenerator<ChatEvent, void, undefined> {
    const decoder = this.#decoder;
    this.#check(job);
    refuseOversized(job.input, decoder.contextLength);
    const { prompt, begun } = this.#tokens(job);
    const whole = prompt.length;
    if (whole >= decoder.contextLength) throw contextLengthExceeded(whole, decoder.contextLength);
    const cachedTokens = await this.#reuse(prompt);
    const { fingerprint } = this;
    yield { type: 'accepted', accepted: { promptTokens: whole, cachedTokens, fingerprint } };

    const start = performance.now();
    let logits = await this.#prefill(prompt.slice(cachedTokens), signal);
    const prefilled = performance.now();
    const sampler = new Sampler(job.sampling, begun);
    const detokenizer = new Detokenizer((ids) => decoder.decode(ids), prompt);
    const most = Math.min(job.maxTokens ?? Number.POSITIVE_INFINITY, decoder.contextLength - whole);
    let finishReason: EngineFinishReason = 'length';
    let completionTokens = 0;
    /** Not in a delta yet: part of a character. */
    let waiting = 0;
    let logprobs: TokenLogprob[] = [];
    const delta = (text: string): ChatEvent => {
      const tokens = waiting;
      const told = logprobs;
      waiting = 0;
      logprobs = [];
      return {
        type: 'delta',
        delta: { text, tokens, ...(job.topLogprobs !== undefined && { logprobs: told }) },
      };
    };
    while (completionTokens < most) {
      const id = sampler.next(logits);
      if (id < 0) throw noNumbers();
      completionTokens++;
      if (decoder.isEnd(id)) {
        finishReason = 'stop';
        break;
      }
      waiting++;
      if (job.topLogprobs !== undefined) {
        logprobs.push(logprobOf(logits, id, job.topLogprobs, (token) => decoder.text(token)));
      }
      const text = detokenizer.push(id);
      if (text !== '') yield delta(text);
      if (completionTokens < most) logits = await this.#step([id], signal);
    }
    if (waiting > 0) yield delta(detokenizer.end());
    yield {
      type: 'done',
      finishReason,
      usage: { promptTokens: whole, cachedTokens, completionTokens },
      timings: { queueMs: 0, prefillMs: prefilled - start, decodeMs: performance.now() - prefilled },
    };
  }

  async unload(): Promise<void> {
    const leave = await this.#turn.enter(new AbortController().signal);
    await this.#decoder.dispose();
    leave();
  }

  #check({ constraint, sampling }: ChatJob): void {
    if (constraint) {
      throw badRequest(
        'This model cannot hold its replies to a JSON schema or grammar. Leave response_format (and a forced tool_choice) out, or use another model.',
        'response_format',
        'unsupported_value',
      );
    }
    const { vocabularySize } = this.#decoder;
    const unknown = Object.keys(sampling.logitBias ?? {}).find((id) => Number(id) >= vocabularySize);
    if (unknown === undefined) return;
    throw badRequest(
      `This model has no token ${unknown}: its ids end at ${vocabularySize - 1}.`,
      'logit_bias',
    );
  }

  /** The whole prompt, and the part of it that is a reply begun elsewhere. */
  #tokens({ input, resume }: ChatJob): { prompt: number[]; begun: number[] } {
    const raw = 'prompt' in input;
    const text = raw ? input.prompt : this.#chatPrompt.render(input.messages);
    // A template names the special tokens itself.
    const encode = (whole: string): number[] => this.#decoder.encode(whole, { bare: !raw });
    const prompt = encode(text);
    if (prompt.length === 0) throw badRequest('The prompt is empty.', raw ? 'prompt' : 'messages');
    if (!resume?.text) return { prompt, begun: [] };
    const whole = encode(text + resume.text);
    return { prompt: whole, begun: whole.slice(prompt.length) };
  }

  /** What of the prompt is in the cache: all that is cached, or nothing, as a cache cannot be cut. */
  async #reuse(prompt: readonly number[]): Promise<number> {
    const { cached } = this.#decoder;
    // The last token is always computed: its logits are wanted.
    if (cached.length < prompt.length && cached.every((id, at) => id === prompt[at])) return cached.length;
    await this.#decoder.reset();
    return 0;
  }

  async #prefill(ids: readonly number[], signal: AbortSignal): Promise<Float32Array> {
    const { stepTokens } = this.#decoder;
    let at = 0;
    for (; at + stepTokens < ids.length; at += stepTokens) {
      await this.#step(ids.slice(at, at + stepTokens), signal);
    }
    return this.#step(ids.slice(at), signal);
  }

  async #step(ids: readonly number[], signal: AbortSignal): Promise<Float32Array> {
    await yieldToEventLoop();
    signal.throwIfAborted();
    try {
      return await this.#decoder.step(ids);
    } catch (error) {
      throw asRunFailure(error);
    }
  }
}

function noNumbers(): EngineError {
  const message = 'The model computed no numbers on this device. Use another model, or another device.';
  return new EngineError({ code: 'engine_failed', message });
}
