import type { Wllama } from '@wllama/wllama';

import type { VariantSampling } from '../../../catalog/catalog.ts';
import type { ChatEvent, ChatJob, Sampling } from '../../../protocol/job.ts';
import type { ChatEngine } from '../engine.ts';
import { engineCrashed, EngineError } from '../../../errors/engine-error.ts';
import { SlotQueue } from '../../slot-queue.ts';
import { Channel } from '../../../util/async.ts';
import type { ChatPrompt } from '../../prompt/chat-prompt.ts';
import { refuseOversized } from '../../prompt/prompt-bounds.ts';
import { type Complete, type Completion, ThinkFirst, toCompletion } from '../../prompt/think-first.ts';
import { ReplyScheduler } from './reply-scheduler.ts';
import { type Chunk, LlamaReplyReader } from './wllama-reply.ts';
import { completionRequest } from './wllama-request.ts';
import { isCrowded, type ServerCalls } from './internals/server-calls.ts';
import { fromWllamaError } from './wllama-error.ts';

/** Attempts at a reply that the other slots crowded out of the context. */
const TRIES = 3;

/** A grammar would begin again, and log probabilities would be of another prompt. */
const canResume = ({ constraint, topLogprobs }: Completion): boolean =>
  constraint === undefined && topLogprobs === undefined;

/** After what has come of it so far. */
function continued({ prompt, maxTokens }: Completion, so: { text: string; tokens: number }): Completion {
  return { prompt: prompt + so.text, ...(maxTokens !== undefined && { maxTokens: maxTokens - so.tokens }) };
}

/** llama.cpp's server in WASM: its requests and chunks turned into ours. */
export class WllamaEngine implements ChatEngine {
  readonly fingerprint: string;
  readonly slots: number;
  readonly thinks: boolean;
  readonly #wllama: Wllama;
  readonly #scheduler: ReplyScheduler;
  readonly #chatPrompt: ChatPrompt;
  readonly #sampling: VariantSampling;
  readonly #oneByOne = new SlotQueue(1);
  #dead = false;

  constructor(
    wllama: Wllama,
    calls: ServerCalls,
    chatPrompt: ChatPrompt,
    { fingerprint, slots, sampling }: { fingerprint: string; slots: number; sampling: VariantSampling },
  ) {
    this.#wllama = wllama;
    this.#scheduler = new ReplyScheduler(calls, slots, wllama.mustAddBosToken());
    this.#chatPrompt = chatPrompt;
    this.fingerprint = fingerprint;
    this.slots = slots;
    this.thinks = chatPrompt.thinks;
    this.#sampling = sampling;
  }

  async *generate(
    job: ChatJob,
    signal: AbortSignal,
    onPrefill?: () => void,
  ): AsyncGenerator<ChatEvent, void, undefined> {
    signal.throwIfAborted();
    if (this.#dead) throw engineCrashed(null);
    const { n_ctx: contextLength } = this.#wllama.getLoadedContextInfo();
    refuseOversized(job.input, contextLength);
    const complete: Complete = (part) => this.#complete(part, job.sampling, signal, onPrefill);
    try {
      const { prompt, thinking } = this.#chatPrompt.open(job);
      if (thinking) yield* new ThinkFirst(job, prompt, thinking, complete).events(contextLength);
      else yield* complete(toCompletion(job, prompt));
    } catch (error) {
      signal.throwIfAborted();
      throw this.#translate(error, job.constraint !== undefined);
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

  #translate(error: unknown, constrained: boolean): EngineError {
    const translated = fromWllamaError(error, constrained);
    if (translated.code === 'engine_crashed') this.#dead = true;
    return translated;
  }
}
