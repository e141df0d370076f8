import type { Wllama } from '@wllama/wllama';

import type { VariantSampling } from '../../../catalog/catalog.ts';
import { contextLengthExceeded, engineCrashed } from '../../../errors/engine-errors.ts';
import { requestError, serverError, ServiceError } from '../../../errors/service-error.ts';
import type { ChatEvent, ChatJob, Sampling } from '../../../protocol/job.ts';
import { Channel } from '../../../util/async.ts';
import type { ChatPrompt } from '../../prompt/chat-prompt.ts';
import { refuseOversized } from '../../prompt/prompt-bounds.ts';
import { type Complete, type Completion, ThinkFirst, toCompletion } from '../../prompt/think-first.ts';
import { SlotQueue } from '../../slot-queue.ts';
import type { ChatEngine } from '../engine.ts';
import { type Chunk, completionRequest, LlamaReplyReader } from './completion-format.ts';
import { isCrowded, RequestRejectedError, type ServerCalls } from './internals/server-calls.ts';
import { ReplyScheduler } from './reply-scheduler.ts';
import { isOutOfMemory, outOfMemory } from '../out-of-memory.ts';

/** Attempts at a reply that the other slots crowded out of the context. */
const TRIES = 3;

/** A grammar would begin again, and log probabilities would be of another prompt. */
const canResume = ({ constraint, topLogprobs }: Completion): boolean =>
  constraint === undefined && topLogprobs === undefined;

/** After what has come of it so far. */
function continued({ prompt, maxTokens }: Completion, so: { text: string; tokens: number }): Completion {
  return { prompt: prompt + so.text, ...(maxTokens !== undefined && { maxTokens: maxTokens - so.tokens }) };
}

interface EngineOptions {
  fingerprint: string;
  slots: number;
  /** Tokens of a prompt that are computed in one step. */
  batch: number;
  sampling: VariantSampling;
}

/** llama.cpp's server in WASM: its requests and chunks turned into ours. */
export class WllamaEngine implements ChatEngine {
  readonly fingerprint: string;
  readonly slots: number;
  readonly thinks: boolean;
  readonly contextLength: number;
  readonly #wllama: Wllama;
  readonly #scheduler: ReplyScheduler;
  readonly #chatPrompt: ChatPrompt;
  readonly #sampling: VariantSampling;
  readonly #batch: number;
  readonly #oneByOne = new SlotQueue(1);
  #dead = false;

  constructor(
    wllama: Wllama,
    calls: ServerCalls,
    chatPrompt: ChatPrompt,
    { fingerprint, slots, batch, sampling }: EngineOptions,
  ) {
    this.#wllama = wllama;
    this.#scheduler = new ReplyScheduler(calls, slots, wllama.mustAddBosToken());
    this.#chatPrompt = chatPrompt;
    this.fingerprint = fingerprint;
    this.slots = slots;
    this.#batch = batch;
    this.thinks = chatPrompt.thinks;
    this.contextLength = wllama.getLoadedContextInfo().n_ctx;
    this.#sampling = sampling;
  }

  async *generate(
    job: ChatJob,
    signal: AbortSignal,
    onPrefill?: () => void,
  ): AsyncGenerator<ChatEvent, void, undefined> {
    signal.throwIfAborted();
    if (this.#dead) throw engineCrashed(null);
    const { contextLength } = this;
    refuseOversized(job.input, contextLength);
    const complete: Complete = (part) =>
      job.countOnly
        ? this.#count(part, job.sampling, signal)
        : this.#complete(part, job.sampling, signal, onPrefill);
    try {
      const { prompt, thinking } = this.#chatPrompt.open(job);
      if (thinking) yield* new ThinkFirst(job, prompt, thinking, complete).events(contextLength);
      else yield* complete(toCompletion(job, prompt));
    } catch (error) {
      signal.throwIfAborted();
      throw this.#translate(error, job.constraint !== undefined);
    }
  }

  /** Computes the prompt only where its tokens cannot be counted without. */
  async *#count(
    completion: Completion,
    sampling: Sampling,
    signal: AbortSignal,
  ): AsyncGenerator<ChatEvent, void, undefined> {
    const { specialText } = this.#chatPrompt;
    try {
      if (specialText === null) throw new RequestRejectedError('no special token is known');
      const promptTokens = await this.#scheduler.count(completion.prompt, specialText, this.#batch);
      signal.throwIfAborted();
      yield { type: 'accepted', accepted: { promptTokens, fingerprint: this.fingerprint } };
    } catch (error) {
      if (!(error instanceof RequestRejectedError)) throw error;
      yield* this.#complete({ prompt: completion.prompt, maxTokens: 1 }, sampling, signal);
    }
  }

  async *#complete(
    completion: Completion,
    sampling: Sampling,
    signal: AbortSignal,
    onPrefill?: () => void,
  ): AsyncGenerator<ChatEvent, void, undefined> {
    const reader = new LlamaReplyReader(completion.topLogprobs, this.fingerprint);
    let leave = () => {};
    try {
      for (let attempt = completion, tries = 1; ; tries++) {
        try {
          const running = this.#begin(attempt, sampling, signal, onPrefill);
          try {
            for (let chunk = await running.take(); chunk; chunk = await running.take())
              yield* reader.read(chunk);
            yield* reader.end();
            return;
          } finally {
            await running.stop();
          }
        } catch (error) {
          if (!isCrowded(error) || tries === TRIES || !canResume(completion)) throw error;
          // Those that filled the context together come out of it one after another.
          if (tries === 1) leave = await this.#oneByOne.enter(signal);
          attempt = continued(completion, reader.again());
        }
      }
    } finally {
      leave();
    }
  }

  /** `stop` resolves when its slot is free. It stops a reply whose reader walks away, too. */
  #begin(
    completion: Completion,
    sampling: Sampling,
    signal: AbortSignal,
    onPrefill?: () => void,
  ): { take(): Promise<Chunk | null>; stop(): Promise<void> } {
    const chunks = new Channel<Chunk>();
    const left = new AbortController();
    const running = this.#scheduler.run(
      completionRequest(completion, sampling, this.#sampling),
      (chunk) => chunks.push(chunk),
      AbortSignal.any([signal, left.signal]),
      onPrefill,
    );
    const ended = running.then(
      () => chunks.end(),
      (error: unknown) => chunks.fail(error),
    );
    return {
      take: () => chunks.take(),
      stop() {
        left.abort();
        return ended;
      },
    };
  }

  async unload(): Promise<void> {
    this.#dead = true;
    this.#scheduler.stop(new Error('the engine was unloaded'));
    await this.#wllama.exit();
  }

  #translate(error: unknown, constrained: boolean): ServiceError {
    const translated = fromWllamaError(error, constrained);
    if (translated.code === 'engine_crashed') this.#dead = true;
    return translated;
  }
}

/** Its refusals of one request, distinguished; anything else has broken it. */
function fromWllamaError(error: unknown, constrained: boolean): ServiceError {
  if (error instanceof ServiceError) return error;
  if (!(error instanceof RequestRejectedError)) return engineCrashed(error);
  const { promptTokens, contextLength } = error;
  if (promptTokens && contextLength) return contextLengthExceeded(promptTokens, contextLength);
  if (constrained) {
    return requestError(
      400,
      'The response format cannot be enforced: its JSON schema uses something that the grammar cannot express. Simplify the schema.',
      'unsupported_value',
      'response_format',
    );
  }
  const message = 'The engine failed on this request. Try again, or with a shorter conversation.';
  return serverError('engine_failed', message, error);
}

/** Recognises a lack of memory; any other error stays as it is. */
export function asLoadFailure(error: unknown, variant: string): unknown {
  if (error instanceof ServiceError) return error;
  const text = error instanceof Error ? `${error.name} ${error.message}` : String(error);
  return isOutOfMemory(text) ? outOfMemory(variant, error) : error;
}
