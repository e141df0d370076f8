import type { VariantSampling } from '#catalog';
import { contextLengthExceeded, engineCrashed, Channel, Mutex, type ServiceError, unsupported } from '#base';
import type { ModelImage } from '#images';
import { imagesOf, type ChatJob, type Events } from '#jobs';
import { outOfMemory, type Engine, type LabelScores } from '#engine-kit';
import {
  refuseOversized,
  refuseOversizedText,
  refuseUnknownTokens,
  answerPrompt,
  thinkFirst,
  toCompletion,
  tagTokens,
  withoutResultMarks,
  type PromptRenderer,
  type Append,
  type ChatOpening,
  type Completion,
} from '#chat-template';
import {
  type Chunk,
  isCrowded,
  type Llama,
  type PromptImages,
  RequestRejectedError,
  ServerMemoryError,
} from '#llama';
import { completionRequest, LlamaReplyReader } from './completion-format.ts';
import { LabelScorer, type CompleteWhole } from './label-scores.ts';
import { asJobFailure, isTooLong, type TooLongError } from './llama-failures.ts';
import { promptImageReader } from './prompt-images.ts';

/** Maximum number of attempts at a reply when concurrent replies fill the shared context. */
const TRIES = 3;

/** Whether a reply can be resumed: a grammar would start over, and log probabilities would be those of another prompt. */
const canResume = ({ constraint, topLogprobs }: Completion): boolean =>
  constraint === undefined && topLogprobs === undefined;

/** Builds the completion that continues after `received`. */
function continued(
  { prompt, maxTokens, ...others }: Completion,
  received: { text: string; tokens: number },
  append: Append,
): Completion {
  return {
    ...others,
    prompt: append(prompt, received.text, others.shownTokens ?? []),
    ...(maxTokens !== undefined && { maxTokens: maxTokens - received.tokens }),
  };
}

/** Data shared by the completions of one job. */
interface Run {
  job: ChatJob;
  images: readonly ModelImage[];
  signal: AbortSignal;
  onPrefill?: (() => void) | undefined;
}

/** Starts a reply. `stop()` aborts it if it still runs, and resolves when its slot is free. */
function startReply(
  llama: Llama,
  request: Record<string, unknown>,
  { signal, onPrefill }: Run,
  images: PromptImages | undefined,
): { take(): Promise<Chunk | null>; stop(): Promise<void> } {
  const chunks = new Channel<Chunk>();
  const stopped = new AbortController();
  const ends = AbortSignal.any([signal, stopped.signal]);
  const running = llama.complete(request, (chunk) => chunks.push(chunk), ends, onPrefill, images);
  const ended = running.then(
    () => chunks.end(),
    (error: unknown) => chunks.fail(error),
  );
  return {
    take: () => chunks.take(),
    stop() {
      stopped.abort();
      return ended;
    },
  };
}

/** A chat model in llama.cpp's server in WASM. Translates jobs to its requests, and its chunks to events. */
export class WllamaEngine implements Engine<'chat'> {
  readonly kind = 'chat';
  readonly fingerprint: string;
  readonly slots: number;
  readonly traits: Engine<'chat'>['traits'];
  readonly #llama: Llama;
  readonly #renderer: PromptRenderer;
  readonly #ownSampling: VariantSampling;
  /** Null if the model has no vision. */
  readonly #imageReader: ReturnType<typeof promptImageReader> | null;
  readonly #append: Append = (...parameters) => this.#renderer.append(...parameters);
  readonly #crowded = new Mutex();
  readonly #labelScorer = new LabelScorer();
  #dead = false;
  /** Whether the server may hold states of earlier prompts. */
  #hasAnswered = false;

  constructor(llama: Llama, renderer: PromptRenderer, fingerprint: string, ownSampling: VariantSampling) {
    this.fingerprint = fingerprint;
    this.slots = llama.slots;
    const { context: contextLength, imageMarker } = llama;
    const { chats, thinks } = renderer;
    this.traits = { contextLength, chats, thinks, vision: imageMarker !== null };
    this.#llama = llama;
    this.#renderer = renderer;
    this.#ownSampling = ownSampling;
    this.#imageReader = imageMarker === null ? null : promptImageReader(imageMarker);
  }

  /** Checks a job. @returns its completion, or the events of a job that takes another number of completions */
  async #begin(run: Run): Promise<Completion | Events<'chat'>> {
    const { job, signal } = run;
    signal.throwIfAborted();
    if (this.#dead) throw engineCrashed(null);
    refuseUnknownTokens(job.sampling, this.#llama.vocabulary);
    refuseOversized(job, this.#llama.context);
    run.images = await this.#readImages(job, signal);
    const { prompt, thinking, hasResults } = await this.#open(job, run.images, signal);
    if (!thinking && !hasResults && !job.countOnly) return toCompletion(job, prompt);
    const generate = (part: Completion): Events<'chat'> => {
      if (job.countOnly) return this.#count(part.prompt, run);
      const events = this.#complete(async () => part, run);
      return hasResults ? withoutResultMarks(events) : events;
    };
    if (!thinking) return generate(toCompletion(job, prompt));
    const shownTokens = tagTokens(thinking.tags);
    const think = (part: Completion) => generate({ ...part, shownTokens });
    return thinkFirst(job, prompt, thinking, {
      complete: think,
      append: this.#append,
      contextLength: this.#llama.context,
    });
  }

  /** @throws ServiceError 400 */
  async #readImages(job: ChatJob, signal: AbortSignal): Promise<ModelImage[]> {
    const [first] = imagesOf(job.input);
    if (!first) return [];
    if (this.#imageReader) return this.#imageReader.read(job, signal);
    const rule = `is an image, and the weights that this device runs, ${this.fingerprint}, cannot see`;
    throw unsupported(first.param, rule);
  }

  /** Renders and checks the prompt. @throws ServiceError 400 */
  async #open(job: ChatJob, images: readonly ModelImage[], signal: AbortSignal): Promise<ChatOpening> {
    const opening = await this.#renderer.open(job, this.#llama.imageMarker, signal);
    refuseOversizedText(opening.prompt, this.#llama.context);
    this.#imageReader?.checkMarkers(opening.prompt, images);
    if (images.length === 0 && !job.countOnly) await this.#refuseTooLong(opening.prompt, signal);
    return opening;
  }

  /**
   * Counts a prompt that may be too long if it would have to queue: llama.cpp rejects it only when it begins.
   * @throws ServiceError `context_length_exceeded`
   */
  async #refuseTooLong(prompt: string, signal: AbortSignal): Promise<void> {
    if (prompt.length <= this.#llama.context || !this.#llama.isBusy()) return;
    try {
      const tokens = await this.#countTokens(prompt, signal);
      if (tokens >= this.#llama.context) throw contextLengthExceeded(tokens, this.#llama.context);
    } catch (error) {
      if (!(error instanceof RequestRejectedError)) throw error;
    }
  }

  /** Computes the prompt only if counting its tokens requires it. */
  async *#count(prompt: string, run: Run): Events<'chat'> {
    const { images, signal } = run;
    try {
      const promptTokens = await this.#countTokens(prompt, signal, this.#imageReader?.place(prompt, images));
      yield { type: 'accepted', accepted: { promptTokens, fingerprint: this.fingerprint } };
    } catch (error) {
      if (!(error instanceof RequestRejectedError)) throw error;
      const one = { prompt, maxTokens: 1 };
      yield* this.#complete(async () => one, { ...run, onPrefill: undefined });
    }
  }

  /** Yields the events of one completion. The only generator that a token of a plain reply passes. */
  async *#complete(opening: () => Promise<Completion | Events<'chat'>>, run: Run): Events<'chat'> {
    const { job, signal } = run;
    let leave = () => {};
    try {
      const completion = await opening();
      if (!('prompt' in completion)) return yield* completion;
      const reader = new LlamaReplyReader(completion.topLogprobs, this.fingerprint);
      for (let attempt = completion, tries = 1; ; tries++) {
        try {
          const request = completionRequest(attempt, job.sampling, this.#ownSampling);
          const placed = this.#imageReader?.place(attempt.prompt, run.images);
          const reply = startReply(this.#llama, request, run, placed);
          try {
            for (let chunk = await reply.take(); chunk; chunk = await reply.take()) yield* reader.read(chunk);
            yield* reader.end();
            this.#hasAnswered = true;
            return;
          } finally {
            await reply.stop();
          }
        } catch (error) {
          const images = run.images.length;
          if (images > 0 && isTooLong(error))
            throw await this.#tooLong(error, completion.prompt, images, signal);
          if (!isCrowded(error) || tries === TRIES) throw error;
          // Retry the replies that filled the context together one after another.
          if (tries === 1) leave = await this.#crowded.lock(signal);
          if (canResume(completion)) attempt = continued(completion, reader.again(), this.#append);
          else reader.repeat();
        }
      }
    } catch (error) {
      signal.throwIfAborted();
      throw this.#translate(error, job);
    } finally {
      leave();
    }
  }

  /** Error for a prompt that is too long, with the number of tokens that its images take. */
  async #tooLong(
    { promptTokens, contextLength }: TooLongError,
    prompt: string,
    images: number,
    signal: AbortSignal,
  ): Promise<ServiceError> {
    const text = this.#imageReader?.withoutMarkers(prompt) ?? prompt;
    const textTokens = await this.#countTokens(text, signal).catch(() => 0);
    const imageUsage = { images, tokens: promptTokens - textTokens };
    return contextLengthExceeded(promptTokens, contextLength, imageUsage);
  }

  /** @throws RequestRejectedError if no special token is known, which counting requires */
  async #countTokens(prompt: string, signal: AbortSignal, images?: PromptImages): Promise<number> {
    const { specialText } = this.#renderer;
    if (specialText === null) throw new RequestRejectedError('no special token is known');
    return this.#llama.count(prompt, specialText, signal, images);
  }

  #translate(error: unknown, job: ChatJob): ServiceError {
    if (error instanceof ServerMemoryError) {
      this.#dead = true;
      // `engine_crashed` reloads the engine and retries: without the states of earlier prompts, the request may fit.
      return this.#hasAnswered ? engineCrashed(error) : outOfMemory(this.fingerprint, error);
    }
    const failure = asJobFailure(error, job);
    if (failure.code === 'engine_crashed') this.#dead = true;
    return failure;
  }

  run(job: ChatJob, signal: AbortSignal, onPrefill?: () => void): Events<'chat'> {
    const run: Run = { job, images: [], signal, onPrefill };
    return this.#complete(() => this.#begin(run), run);
  }

  async score(job: ChatJob, labels: readonly string[], signal: AbortSignal): Promise<LabelScores> {
    signal.throwIfAborted();
    if (this.#dead) throw engineCrashed(null);
    refuseOversized(job, this.#llama.context);
    const images = await this.#readImages(job, signal);
    try {
      const prompt = answerPrompt(await this.#open(job, images, signal));
      const completeWhole: CompleteWhole = async (after, fields) => {
        const chunks: Chunk[] = [];
        const whole = this.#append(prompt, after, []);
        const placed = this.#imageReader?.place(whole, images);
        const request = { ...fields, prompt: whole };
        await this.#llama.complete(request, (chunk) => chunks.push(chunk), signal, undefined, placed);
        return chunks;
      };
      return await this.#labelScorer.score(
        completeWhole,
        labels.map((label) => this.#append('', label, [])),
      );
    } catch (error) {
      signal.throwIfAborted();
      throw this.#translate(error, job);
    }
  }

  async unload(): Promise<void> {
    this.#dead = true;
    this.#renderer.end();
    await this.#llama.close();
  }
}
