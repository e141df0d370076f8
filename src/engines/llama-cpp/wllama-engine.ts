import type { Wllama } from '@wllama/wllama';

import type { VariantSampling } from '../../catalog/catalog.ts';
import { contextLengthExceeded, engineCrashed } from '../../errors/engine-errors.ts';
import { requestError, serverError, ServiceError, unsupported } from '../../errors/service-error.ts';
import { type ChatEvent, type ChatImage, type ChatJob, imagesOf } from '../../jobs/chat.ts';
import type { Sampling } from '../../jobs/sampling.ts';
import { Channel } from '../../util/async.ts';
import { tokenTerminal } from '../../util/gbnf.ts';
import type { ModelImage } from '../../images/draw-image.ts';
import { refuseOversized, refuseOversizedText, refuseUnknownTokens } from '../prompt/prompt-bounds.ts';
import type { PromptRenderer } from '../prompt/prompt-renderer.ts';
import {
  type ChatOpening,
  type Complete,
  type Completion,
  ThinkFirst,
  toCompletion,
} from '../prompt/think-first.ts';
import { SlotQueue } from '../slot-queue.ts';
import type { Engine, LabelScores, LoadedFacts } from '../engine.ts';
import {
  type Chunk,
  completionRequest,
  LlamaReplyReader,
  tokenIds,
  tokensRequest,
} from './completion-format.ts';
import {
  isCrowded,
  RequestRejectedError,
  type ServerCalls,
  ServerMemoryError,
} from './internals/server-calls.ts';
import { BARE } from './internals/prompt-slots.ts';
import { kernelsOf } from './internals/worker-proxy.ts';
import { type CompleteWhole, LabelScorer } from './label-scores.ts';
import { type PromptImages, ReplyScheduler } from './reply-scheduler.ts';
import { outOfMemory } from '../out-of-memory.ts';

/** How often an image's digest stands in the key of a prompt: of 64 characters, as many as 500 tokens have. */
const IMAGE_KEYS = 32;

/** llama.cpp's server cuts text into tokens, and images into tiles, before anything is computed. */
const PROMPT_REFUSED = /Failed to (format input|tokenize prompt|load image)/;

/** Attempts at a reply that the other slots crowded out of the context. */
const TRIES = 3;

/** A grammar would begin again, and log probabilities would be of another prompt. */
const canResume = ({ constraint, topLogprobs }: Completion): boolean =>
  constraint === undefined && topLogprobs === undefined;

/** Completion that continues after the text and tokens that have come so far. */
function continued(
  { prompt, maxTokens, tokensBefore }: Completion,
  so: { text: string; tokens: number },
): Completion {
  return {
    prompt: prompt + so.text,
    tokensBefore: tokensBefore + so.tokens,
    ...(maxTokens !== undefined && { maxTokens: maxTokens - so.tokens }),
  };
}

interface EngineOptions {
  fingerprint: string;
  slots: number;
  /** Tokens of a prompt that are computed in one step. */
  batch: number;
  sampling: VariantSampling;
  /** Text that stands for an image in a prompt; null: the model has no vision. */
  imageMarker: string | null;
  /** The text of token ids. @throws ServiceError 400 */
  detokenize(ids: readonly number[]): Promise<string>;
}

/** llama.cpp's server in WASM: its requests and chunks turned into ours. */
export class WllamaEngine implements Engine<'chat'> {
  readonly kind = 'chat';
  readonly fingerprint: string;
  readonly slots: number;
  readonly facts: LoadedFacts & { contextLength: number };
  readonly #wllama: Wllama;
  readonly #scheduler: ReplyScheduler;
  readonly #renderer: PromptRenderer;
  readonly #sampling: VariantSampling;
  readonly #batch: number;
  readonly #imageMarker: string | null;
  /** Decoded images of jobs under way: a conversation that is cut to fit is not decoded again. */
  readonly #pixmaps = new WeakMap<ChatImage, ModelImage>();
  readonly #detokenize: EngineOptions['detokenize'];
  readonly #oneByOne = new SlotQueue(1);
  readonly #labels = new LabelScorer();
  #dead = false;
  /** Whether the server may hold states of earlier prompts. */
  #hasAnswered = false;

  constructor(
    wllama: Wllama,
    calls: ServerCalls,
    renderer: PromptRenderer,
    { fingerprint, slots, batch, sampling, imageMarker, detokenize }: EngineOptions,
  ) {
    this.#wllama = wllama;
    // The token is put before a text that may hold images elsewhere.
    const mayBeBare = imageMarker === null && kernelsOf(wllama) !== undefined;
    const bare = wllama.mustAddBosToken() ? (mayBeBare ? BARE : null) : '';
    this.#scheduler = new ReplyScheduler(calls, slots, bare);
    this.#renderer = renderer;
    this.fingerprint = fingerprint;
    this.slots = slots;
    this.#batch = batch;
    this.facts = {
      contextLength: wllama.getLoadedContextInfo().n_ctx,
      chats: renderer.chats,
      thinks: renderer.thinks,
      vision: imageMarker !== null,
    };
    this.#sampling = sampling;
    this.#imageMarker = imageMarker;
    this.#detokenize = detokenize;
  }

  async *run(
    given: ChatJob,
    signal: AbortSignal,
    onPrefill?: () => void,
  ): AsyncGenerator<ChatEvent, void, undefined> {
    signal.throwIfAborted();
    if (this.#dead) throw engineCrashed(null);
    const { contextLength } = this.facts;
    refuseUnknownTokens(given.sampling, this.#wllama.getLoadedContextInfo().n_vocab);
    refuseOversized(given.input, contextLength);
    const job = await this.#withText(given);
    const images = await this.#readImages(job, signal);
    const complete: Complete = (part) =>
      job.countOnly
        ? this.#count(part, job.sampling, signal, images)
        : this.#complete(part, job.sampling, signal, images, onPrefill);
    try {
      const { prompt, thinking } = await this.#open(job, images, signal);
      if (thinking) yield* new ThinkFirst(job, prompt, thinking, complete).events(contextLength);
      else yield* complete(toCompletion(await this.#spelled(job, signal), prompt));
    } catch (error) {
      signal.throwIfAborted();
      throw this.#translate(error, job);
    }
  }

  async score(job: ChatJob, labels: readonly string[], signal: AbortSignal): Promise<LabelScores> {
    signal.throwIfAborted();
    if (this.#dead) throw engineCrashed(null);
    refuseOversized(job.input, this.facts.contextLength);
    const images = await this.#readImages(job, signal);
    try {
      const { prompt } = await this.#open(job, images, signal);
      const complete: CompleteWhole = async (after, fields) => {
        const chunks: Chunk[] = [];
        const request = { ...fields, prompt: prompt + after };
        const promptImages = this.#promptImages(request.prompt, images);
        await this.#scheduler.run(request, (chunk) => chunks.push(chunk), signal, undefined, promptImages);
        return chunks;
      };
      return await this.#labels.score(complete, labels);
    } catch (error) {
      signal.throwIfAborted();
      throw this.#translate(error, job);
    }
  }

  /** Renders the prompt, and refuses one that cannot be answered. @throws ServiceError 400 */
  async #open(job: ChatJob, images: readonly ModelImage[], signal: AbortSignal): Promise<ChatOpening> {
    const opening = await this.#renderer.open(job, this.#imageMarker, signal);
    refuseOversizedText(opening.prompt, this.facts.contextLength);
    this.#checkMarkers(opening.prompt, images);
    if (images.length === 0 && !job.countOnly) await this.#refuseTooLong(opening.prompt);
    return opening;
  }

  /**
   * Counts the tokens of a prompt that may be too long, where it would wait for others: llama.cpp refuses it when it begins.
   * @throws ServiceError `context_length_exceeded`
   */
  async #refuseTooLong(prompt: string): Promise<void> {
    const { contextLength } = this.facts;
    if (prompt.length <= contextLength || !this.#scheduler.busy) return;
    try {
      const tokens = await this.#countText(prompt);
      if (tokens !== null && tokens >= contextLength) throw contextLengthExceeded(tokens, contextLength);
    } catch (error) {
      if (!(error instanceof RequestRejectedError)) throw error;
    }
  }

  /** A text that the reply is to be can be divided in many ways: its grammar gets the tokens of a prompt. */
  async #spelled(job: ChatJob, signal: AbortSignal): Promise<ChatJob> {
    if (job.constraint?.kind !== 'grammar' || !job.constraint.spells) return job;
    const { text, from } = job.constraint.spells;
    let ids: number[] = [];
    const read = (chunk: Chunk): void => {
      ids = tokenIds(chunk)[0] ?? ids;
    };
    await this.#scheduler.run(tokensRequest([text]), read, signal);
    if (ids.length <= from) throw new RequestRejectedError('llama.cpp did not report the tokens of a text');
    const gbnf = `root ::= ${ids.slice(from).map(tokenTerminal).join(' ')}`;
    return { ...job, constraint: { kind: 'grammar', gbnf } };
  }

  async #withText(job: ChatJob): Promise<ChatJob> {
    if (!('tokens' in job.input)) return job;
    return { ...job, input: { prompt: await this.#detokenize(job.input.tokens) } };
  }

  /** @throws ServiceError 400 */
  async #readImages({ input }: ChatJob, signal: AbortSignal): Promise<ModelImage[]> {
    const images = imagesOf(input);
    const [first] = images;
    if (!first) return [];
    if (this.#imageMarker === null) {
      const rule = `is an image, and the weights that this device runs, ${this.fingerprint}, cannot see`;
      throw unsupported(first.param, rule);
    }
    const missing = images.filter((image) => !this.#pixmaps.has(image));
    const { decodeImages } = await import('../images/decode-images.ts');
    const decoded = await decodeImages(missing, (decoder, source) => decoder.pixmap(source), signal);
    for (const [index, image] of missing.entries())
      if (decoded[index]) this.#pixmaps.set(image, decoded[index]);
    return images.flatMap((image) => this.#pixmaps.get(image) ?? []);
  }

  /** @throws ServiceError 400: texts may have a marker in them, which stands for no image */
  #checkMarkers(prompt: string, images: readonly ModelImage[]): void {
    const marker = this.#imageMarker;
    if (marker === null || prompt.split(marker).length === images.length + 1) return;
    const message = `The messages contain the text ${JSON.stringify(marker)}, which stands for an image in this engine, or the model's chat template leaves images out. Remove the text.`;
    throw requestError(400, message, 'invalid_value', 'messages');
  }

  #promptImages(prompt: string, images: readonly ModelImage[]): PromptImages | undefined {
    if (this.#imageMarker === null || images.length === 0) return undefined;
    const [start = '', ...texts] = prompt.split(this.#imageMarker);
    // As long as the tokens of an image would be as text, about: what is long to compute is worth keeping.
    const keys = texts.map((text, index) => (images[index]?.digest ?? '').repeat(IMAGE_KEYS) + text);
    return { files: images.map(({ file }) => file), key: start + keys.join('') };
  }

  /** Computes the prompt only where its tokens cannot be counted without. */
  async *#count(
    completion: Completion,
    sampling: Sampling,
    signal: AbortSignal,
    images: readonly ModelImage[],
  ): AsyncGenerator<ChatEvent, void, undefined> {
    const { specialText } = this.#renderer;
    try {
      if (specialText === null) throw new RequestRejectedError('no special token is known');
      const promptTokens = await this.#scheduler.count(
        completion.prompt,
        specialText,
        images.length > 0 ? this.facts.contextLength : this.#batch,
        this.#promptImages(completion.prompt, images),
      );
      signal.throwIfAborted();
      yield { type: 'accepted', accepted: { promptTokens, fingerprint: this.fingerprint } };
    } catch (error) {
      if (!(error instanceof RequestRejectedError)) throw error;
      const prompt = { prompt: completion.prompt, tokensBefore: 0, maxTokens: 1 };
      yield* this.#complete(prompt, sampling, signal, images);
    }
  }

  async *#complete(
    completion: Completion,
    sampling: Sampling,
    signal: AbortSignal,
    images: readonly ModelImage[],
    onPrefill?: () => void,
  ): AsyncGenerator<ChatEvent, void, undefined> {
    const reader = new LlamaReplyReader(completion.topLogprobs, this.fingerprint);
    let leave = () => {};
    try {
      for (let attempt = completion, tries = 1; ; tries++) {
        try {
          const running = this.#begin(attempt, sampling, signal, images, onPrefill);
          try {
            for (let chunk = await running.take(); chunk; chunk = await running.take())
              yield* reader.read(chunk);
            yield* reader.end();
            this.#hasAnswered = true;
            return;
          } finally {
            await running.stop();
          }
        } catch (error) {
          if (images.length > 0 && isTooLong(error))
            throw await this.#tooLong(error, completion.prompt, images);
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

  /** Says what the images take of a prompt that is too long. */
  async #tooLong(
    error: RequestRejectedError & { promptTokens: number; contextLength: number },
    prompt: string,
    { length }: readonly ModelImage[],
  ): Promise<ServiceError> {
    const { promptTokens, contextLength } = error;
    const text = prompt.split(this.#imageMarker ?? '').join('');
    const tokens = (await this.#countText(text)) ?? 0;
    return contextLengthExceeded(promptTokens, contextLength, {
      images: length,
      tokens: promptTokens - tokens,
    });
  }

  /** Tokens of a prompt without images; null: no special token is known, which counting requires. */
  async #countText(prompt: string): Promise<number | null> {
    const { specialText } = this.#renderer;
    return specialText === null ? null : this.#scheduler.count(prompt, specialText, this.#batch);
  }

  /** `stop` resolves when its slot is free. It stops a reply whose reader walks away, too. */
  #begin(
    completion: Completion,
    sampling: Sampling,
    signal: AbortSignal,
    images: readonly ModelImage[],
    onPrefill?: () => void,
  ): { take(): Promise<Chunk | null>; stop(): Promise<void> } {
    const chunks = new Channel<Chunk>();
    const stopped = new AbortController();
    const running = this.#scheduler.run(
      completionRequest(completion, sampling, this.#sampling),
      (chunk) => chunks.push(chunk),
      AbortSignal.any([signal, stopped.signal]),
      onPrefill,
      this.#promptImages(completion.prompt, images),
    );
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

  async unload(): Promise<void> {
    this.#dead = true;
    this.#scheduler.stop(new Error('the engine was unloaded'));
    this.#renderer.end();
    await this.#wllama.exit();
  }

  #translate(error: unknown, job: ChatJob): ServiceError {
    if (error instanceof ServerMemoryError) {
      this.#dead = true;
      // Loaded again, it is asked once more: without the states of earlier prompts, the request may fit.
      return this.#hasAnswered ? engineCrashed(error) : outOfMemory(this.fingerprint, error);
    }
    const translated = fromWllamaError(error, job);
    if (translated.code === 'engine_crashed') this.#dead = true;
    return translated;
  }
}

const isTooLong = (
  error: unknown,
): error is RequestRejectedError & { promptTokens: number; contextLength: number } =>
  error instanceof RequestRejectedError &&
  error.promptTokens !== undefined &&
  error.contextLength !== undefined;

/** Converts the refusal of one request; any other error means that the engine is broken. */
function fromWllamaError(error: unknown, { constraint, input }: ChatJob): ServiceError {
  if (error instanceof ServiceError) return error;
  if (!(error instanceof RequestRejectedError)) return engineCrashed(error);
  if (isTooLong(error)) return contextLengthExceeded(error.promptTokens, error.contextLength);
  if (PROMPT_REFUSED.test(error.message)) {
    const message =
      imagesOf(input).length > 0
        ? 'The engine could not prepare the images of this request: they take more memory than it has for them. Send fewer images.'
        : "The model's vocabulary has no tokens for some characters of this text. Leave them out, or choose another model.";
    return requestError(400, message, 'invalid_value', 'messages');
  }
  if (constraint !== undefined) {
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
