import type { VariantSampling } from '#catalog';
import { contextLengthExceeded, engineCrashed, Channel, Mutex, type ServiceError, unsupported } from '#base';
import type { ModelImage } from '#images';
import { imagesOf, type ChatJob, type Events } from '#jobs';
import { outOfMemory, type Engine } from '#engine-kit';
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
import { asJobFailure, isTooLong } from './llama-failures.ts';
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

/** A chat model in llama.cpp's server in WASM. Translates jobs to its requests, and its chunks to events. */
export function wllamaEngine(
  llama: Llama,
  renderer: PromptRenderer,
  fingerprint: string,
  ownSampling: VariantSampling,
): Engine<'chat'> {
  const crowded = new Mutex();
  const labelScorer = new LabelScorer();
  let dead = false;
  /** Whether the server may hold states of earlier prompts. */
  let hasAnswered = false;
  const append: Append = (prompt, text, allowed) => renderer.append(prompt, text, allowed);
  /** Null if the model has no vision. */
  const imageReader = llama.imageMarker === null ? null : promptImageReader(llama.imageMarker);
  const { context: contextLength } = llama;

  /** Checks a job. @returns its completion, or the events of a job that takes another number of completions */
  async function begin(run: Run): Promise<Completion | Events<'chat'>> {
    const { job, signal } = run;
    signal.throwIfAborted();
    if (dead) throw engineCrashed(null);
    refuseUnknownTokens(job.sampling, llama.vocabulary);
    refuseOversized(job, contextLength);
    run.images = await readImages(job, signal);
    const { prompt, thinking, hasResults } = await open(job, run.images, signal);
    if (!thinking && !hasResults && !job.countOnly) return toCompletion(job, prompt);
    const generate = (part: Completion): Events<'chat'> => {
      if (job.countOnly) return count(part.prompt, run);
      const events = complete(async () => part, run);
      return hasResults ? withoutResultMarks(events) : events;
    };
    if (!thinking) return generate(toCompletion(job, prompt));
    const shownTokens = tagTokens(thinking.tags);
    const think = (part: Completion) => generate({ ...part, shownTokens });
    return thinkFirst(job, prompt, thinking, { complete: think, append, contextLength });
  }

  /** @throws ServiceError 400 */
  async function readImages(job: ChatJob, signal: AbortSignal): Promise<ModelImage[]> {
    const [first] = imagesOf(job.input);
    if (!first) return [];
    if (imageReader) return imageReader.read(job, signal);
    const rule = `is an image, and the weights that this device runs, ${fingerprint}, cannot see`;
    throw unsupported(first.param, rule);
  }

  /** Renders and checks the prompt. @throws ServiceError 400 */
  async function open(
    job: ChatJob,
    images: readonly ModelImage[],
    signal: AbortSignal,
  ): Promise<ChatOpening> {
    const opening = await renderer.open(job, llama.imageMarker, signal);
    refuseOversizedText(opening.prompt, contextLength);
    imageReader?.checkMarkers(opening.prompt, images);
    if (images.length === 0 && !job.countOnly) await refuseTooLong(opening.prompt, signal);
    return opening;
  }

  /**
   * Counts a prompt that may be too long if it would have to queue: llama.cpp rejects it only when it begins.
   * @throws ServiceError `context_length_exceeded`
   */
  async function refuseTooLong(prompt: string, signal: AbortSignal): Promise<void> {
    if (prompt.length <= contextLength || !llama.isBusy()) return;
    try {
      const tokens = await countTokens(prompt, signal);
      if (tokens >= contextLength) throw contextLengthExceeded(tokens, contextLength);
    } catch (error) {
      if (!(error instanceof RequestRejectedError)) throw error;
    }
  }

  /** Computes the prompt only if counting its tokens requires it. */
  async function* count(prompt: string, run: Run): Events<'chat'> {
    const { images, signal } = run;
    try {
      const promptTokens = await countTokens(prompt, signal, imageReader?.place(prompt, images));
      yield { type: 'accepted', accepted: { promptTokens, fingerprint } };
    } catch (error) {
      if (!(error instanceof RequestRejectedError)) throw error;
      const one = { prompt, maxTokens: 1 };
      yield* complete(async () => one, { ...run, onPrefill: undefined });
    }
  }

  /** Yields the events of one completion. The only generator that a token of a plain reply passes. */
  async function* complete(opening: () => Promise<Completion | Events<'chat'>>, run: Run): Events<'chat'> {
    const { job, signal } = run;
    let leave = () => {};
    try {
      const completion = await opening();
      if (!('prompt' in completion)) return yield* completion;
      const reader = new LlamaReplyReader(completion.topLogprobs, fingerprint);
      for (let attempt = completion, tries = 1; ; tries++) {
        try {
          const reply = start(attempt, run);
          try {
            for (let chunk = await reply.take(); chunk; chunk = await reply.take()) yield* reader.read(chunk);
            yield* reader.end();
            hasAnswered = true;
            return;
          } finally {
            await reply.stop();
          }
        } catch (error) {
          const images = run.images.length;
          if (images > 0 && isTooLong(error)) throw await tooLong(error, completion.prompt, images, signal);
          if (!isCrowded(error) || tries === TRIES) throw error;
          // Retry the replies that filled the context together one after another.
          if (tries === 1) leave = await crowded.lock(signal);
          if (canResume(completion)) attempt = continued(completion, reader.again(), append);
          else reader.repeat();
        }
      }
    } catch (error) {
      signal.throwIfAborted();
      throw translate(error, job);
    } finally {
      leave();
    }
  }

  /** Starts a reply. `stop()` aborts it if it still runs, and resolves when its slot is free. */
  function start(
    completion: Completion,
    { job: { sampling }, images, signal, onPrefill }: Run,
  ): { take(): Promise<Chunk | null>; stop(): Promise<void> } {
    const chunks = new Channel<Chunk>();
    const stopped = new AbortController();
    const running = llama.complete(
      completionRequest(completion, sampling, ownSampling),
      (chunk) => chunks.push(chunk),
      AbortSignal.any([signal, stopped.signal]),
      onPrefill,
      imageReader?.place(completion.prompt, images),
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

  /** Error for a prompt that is too long, with the number of tokens that its images take. */
  async function tooLong(
    { promptTokens, contextLength: most }: { promptTokens: number; contextLength: number },
    prompt: string,
    images: number,
    signal: AbortSignal,
  ): Promise<ServiceError> {
    const text = imageReader?.withoutMarkers(prompt) ?? prompt;
    const textTokens = await countTokens(text, signal).catch(() => 0);
    const imageUsage = { images, tokens: promptTokens - textTokens };
    return contextLengthExceeded(promptTokens, most, imageUsage);
  }

  /** @throws RequestRejectedError if no special token is known, which counting requires */
  async function countTokens(prompt: string, signal: AbortSignal, images?: PromptImages): Promise<number> {
    const { specialText } = renderer;
    if (specialText === null) throw new RequestRejectedError('no special token is known');
    return llama.count(prompt, specialText, signal, images);
  }

  function translate(error: unknown, job: ChatJob): ServiceError {
    if (error instanceof ServerMemoryError) {
      dead = true;
      // `engine_crashed` reloads the engine and retries: without the states of earlier prompts, the request may fit.
      return hasAnswered ? engineCrashed(error) : outOfMemory(fingerprint, error);
    }
    const failure = asJobFailure(error, job);
    if (failure.code === 'engine_crashed') dead = true;
    return failure;
  }

  return {
    kind: 'chat',
    fingerprint,
    slots: llama.slots,
    traits: {
      contextLength,
      chats: renderer.chats,
      thinks: renderer.thinks,
      vision: llama.imageMarker !== null,
    },
    run(job, signal, onPrefill) {
      const run: Run = { job, images: [], signal, onPrefill };
      return complete(() => begin(run), run);
    },
    async score(job, labels, signal) {
      signal.throwIfAborted();
      if (dead) throw engineCrashed(null);
      refuseOversized(job, contextLength);
      const images = await readImages(job, signal);
      try {
        const prompt = answerPrompt(await open(job, images, signal));
        const completeWhole: CompleteWhole = async (after, fields) => {
          const chunks: Chunk[] = [];
          const whole = append(prompt, after, []);
          const placed = imageReader?.place(whole, images);
          const request = { ...fields, prompt: whole };
          await llama.complete(request, (chunk) => chunks.push(chunk), signal, undefined, placed);
          return chunks;
        };
        return await labelScorer.score(
          completeWhole,
          labels.map((label) => append('', label, [])),
        );
      } catch (error) {
        signal.throwIfAborted();
        throw translate(error, job);
      }
    },
    async unload() {
      dead = true;
      renderer.end();
      await llama.close();
    },
  };
}
