import type { Wllama } from '@wllama/wllama';

import { engineCrashed } from '../../errors/engine-errors.ts';
import { requestError, serverError, ServiceError, unsupported } from '../../errors/service-error.ts';
import type { EmbeddingEvent, EmbeddingJob } from '../../jobs/embedding.ts';
import { Mutex } from '../../util/async.ts';
import { MAX_CHARACTERS } from '../prompt/prompt-bounds.ts';
import type { Engine } from '../engine.ts';
import { outOfMemory } from '../out-of-memory.ts';
import type { Chunk } from './completion-format.ts';
import { RequestRejectedError, type ServerCalls, ServerMemoryError } from './internals/server-calls.ts';

type Vector = Float32Array<ArrayBuffer>;

interface Embedded {
  vector: Vector;
  tokens: number;
}

interface EmbedderOptions {
  fingerprint: string;
  /** Length of a vector. */
  dimensions: number;
  /** Shortest length that the model was trained to be cut to; undefined: it was not. */
  minDimensions: number | undefined;
  contextLength: number;
}

/** An embedding model in llama.cpp's server. Texts are computed one by one: those of several requests take turns. */
export class LlamaEmbedder implements Engine<'embedding'> {
  readonly kind = 'embedding';
  readonly fingerprint: string;
  readonly slots = Number.POSITIVE_INFINITY;
  readonly facts: { contextLength: number };
  readonly #wllama: Pick<Wllama, 'exit'>;
  readonly #calls: ServerCalls;
  readonly #options: EmbedderOptions;
  readonly #turns = new Mutex();
  #dead = false;

  constructor(wllama: Pick<Wllama, 'exit'>, calls: ServerCalls, options: EmbedderOptions) {
    this.#wllama = wllama;
    this.#calls = calls;
    this.#options = options;
    this.fingerprint = options.fingerprint;
    this.facts = { contextLength: options.contextLength };
  }

  async *run(
    { input, dimensions }: EmbeddingJob,
    signal: AbortSignal,
    onPrefill?: () => void,
  ): AsyncGenerator<EmbeddingEvent, void, undefined> {
    signal.throwIfAborted();
    const began = performance.now();
    onPrefill?.();
    const length = this.#checkDimensions(dimensions);
    if ('tokens' in input)
      throw unsupported('input', 'must be text for this model: it cannot take token ids');
    const { contextLength } = this.#options;
    for (const [index, text] of input.texts.entries())
      if (text.length > contextLength * MAX_CHARACTERS)
        throw tooLong(
          index,
          `${text.length} characters, more than ${MAX_CHARACTERS} for each`,
          contextLength,
        );
    const vectors: Vector[] = [];
    let promptTokens = 0;
    for (const [index, text] of input.texts.entries()) {
      const { vector, tokens } = await this.#embed(text, index, signal);
      vectors.push(vector.length === length ? vector : normalized(vector.slice(0, length)));
      promptTokens += tokens;
    }
    const timings = { queueMs: 0, computeMs: performance.now() - began };
    yield { type: 'done', vectors, promptTokens, fingerprint: this.fingerprint, timings };
  }

  async unload(): Promise<void> {
    this.#dead = true;
    await this.#wllama.exit();
  }

  #embed(text: string, index: number, signal: AbortSignal): Promise<Embedded> {
    return this.#turns.run(async () => {
      signal.throwIfAborted();
      if (this.#dead) throw engineCrashed(null);
      try {
        return await this.#compute(text);
      } catch (error) {
        throw this.#translate(error, index);
      }
    });
  }

  async #compute(text: string): Promise<Embedded> {
    const id = await this.#calls.beginEmbedding(text);
    let chunk: Chunk | undefined;
    for (let more = true; more;) {
      const result = await this.#calls.step(id);
      chunk = result.chunks[0] ?? chunk;
      more = result.more;
    }
    const vector = Float32Array.from(chunk?.data?.[0]?.embedding ?? []);
    const { dimensions } = this.#options;
    if (vector.length !== dimensions || !vector.every((value) => Number.isFinite(value))) {
      const message = `The model gave something else than a vector of ${dimensions} finite numbers. Its file may be damaged: use another model.`;
      throw serverError('engine_failed', message);
    }
    return { vector, tokens: chunk?.usage?.prompt_tokens ?? 0 };
  }

  /** @returns the length of the answer's vectors. @throws ServiceError 400 */
  #checkDimensions(asked: number | undefined): number {
    const { dimensions, minDimensions = dimensions } = this.#options;
    if (asked === undefined) return dimensions;
    if (asked >= minDimensions && asked <= dimensions) return asked;
    const allowed =
      minDimensions === dimensions
        ? `omitted or ${dimensions}: this model's vectors cannot be shortened`
        : `between ${minDimensions} and ${dimensions} for this model`;
    throw requestError(400, `\`dimensions\` must be ${allowed}.`, 'unsupported_value', 'dimensions');
  }

  #translate(error: unknown, index: number): ServiceError {
    if (error instanceof RequestRejectedError) {
      const { promptTokens } = error;
      if (promptTokens !== undefined)
        return tooLong(index, String(promptTokens), this.#options.contextLength);
      const message = `The model's vocabulary has no tokens for some characters of input[${index}]. Leave them out, or choose another model.`;
      return requestError(400, message, 'invalid_value', `input[${index}]`);
    }
    if (error instanceof ServerMemoryError) {
      this.#dead = true;
      return outOfMemory(this.fingerprint, error);
    }
    if (error instanceof ServiceError) return error;
    this.#dead = true;
    return engineCrashed(error);
  }
}

function normalized(vector: Vector): Vector {
  const norm = Math.hypot(...vector);
  return norm === 0 ? vector : vector.map((value) => value / norm);
}

function tooLong(index: number, length: string, contextLength: number): ServiceError {
  return requestError(
    400,
    `This model's context holds ${contextLength} tokens, and input[${index}] has ${length}. Split or shorten it.`,
    'context_length_exceeded',
    `input[${index}]`,
  );
}
