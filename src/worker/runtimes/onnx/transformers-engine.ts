import type { TransformersVariant } from '../../../catalog/catalog.ts';
import type { EmbeddingJob } from '../../../protocol/job.ts';
import type { EmbeddingEngine } from '../engine.ts';
import { badRequest, engineCrashed, type EngineError } from '../../../errors/engine-error.ts';
import { MAX_CHARACTERS } from '../../prompt/prompt-bounds.ts';
import { BATCH_TOKENS, type BatchLimits, takeBatch } from './batches.ts';
import { yieldToEventLoop } from '../../../util/yield-to-event-loop.ts';
import type { Embedder } from './embedder.ts';

/** Tokenizing runs on this thread: it yields to other requests after this many milliseconds. */
const TOKENIZE_MS = 20;

type Vector = Float32Array<ArrayBuffer>;

type EmbeddingFacts = Pick<TransformersVariant, 'contextLength' | 'device' | 'dimensions' | 'maxBatchSize'>;

interface Item {
  ids: number[];
  index: number;
  request: Request;
}

interface Request {
  vectors: Vector[];
  left: number;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Embeds the texts of all requests under way together: in as many batches at a time as the model takes, each begun with a
 * text of the request whose turn it is and filled with the texts, of any request, that fit it best.
 */
export class TransformersEngine implements EmbeddingEngine {
  readonly fingerprint: string;
  readonly #embedder: Embedder;
  readonly #variant: EmbeddingFacts;
  readonly #limits: BatchLimits;
  readonly #waiting: Item[] = [];
  /** Requests with texts waiting, the next one's turn first. */
  readonly #turns: Request[] = [];
  readonly #running = new Set<Promise<void>>();

  constructor(embedder: Embedder, variant: EmbeddingFacts, fingerprint: string) {
    this.#embedder = embedder;
    this.#variant = variant;
    const { device = 'wasm', maxBatchSize: sequences } = variant;
    this.#limits = { tokens: BATCH_TOKENS[device], ...(sequences !== undefined && { sequences }) };
    this.fingerprint = fingerprint;
  }

  async embed(job: EmbeddingJob, signal: AbortSignal): Promise<{ vectors: Vector[]; tokens: number }> {
    signal.throwIfAborted();
    this.#checkDimensions(job.dimensions);
    const sequences = await this.#sequences(job, signal);
    const tokens = sequences.reduce((sum, { length }) => sum + length, 0);
    return { vectors: await this.#enqueue(sequences, signal), tokens };
  }

  async unload(): Promise<void> {
    await Promise.all(this.#running);
    await this.#embedder.dispose();
  }

  #enqueue(sequences: number[][], signal: AbortSignal): Promise<Vector[]> {
    return new Promise((resolve, reject) => {
      const request: Request = {
        vectors: Array.from({ length: sequences.length }),
        left: sequences.length,
        resolve: () => {
          signal.removeEventListener('abort', onAbort);
          resolve(request.vectors);
        },
        reject: (error) => {
          signal.removeEventListener('abort', onAbort);
          this.#forget(request);
          reject(error);
        },
      };
      const onAbort = () => request.reject(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });
      this.#turns.push(request);
      this.#waiting.push(...sequences.map((ids, index) => ({ ids, index, request })));
      // Requests that arrive in the same task share the first batch.
      setTimeout(() => this.#fill());
    });
  }

  #fill(): void {
    while (this.#running.size < this.#embedder.parallel) {
      const batch = this.#nextBatch();
      if (!batch) return;
      const run = this.#run(batch).finally(() => {
        this.#running.delete(run);
        this.#fill();
      });
      this.#running.add(run);
    }
  }

  #nextBatch(): Item[] | null {
    for (let turn = this.#turns.shift(); turn; turn = this.#turns.shift()) {
      const seed = this.#waiting.find(({ request }) => request === turn);
      if (!seed) continue;
      const batch = takeBatch(this.#waiting, seed, this.#limits);
      if (this.#waiting.some(({ request }) => request === turn)) this.#turns.push(turn);
      return batch;
    }
    return null;
  }

  async #run(batch: Item[]): Promise<void> {
    try {
      const vectors = await this.#embedder.run(batch.map(({ ids }) => ids));
      batch.forEach(({ request, index }, row) => {
        const vector = vectors[row];
        if (!vector) throw new Error('the model gave fewer vectors than it was given texts');
        request.vectors[index] = vector;
        if (--request.left === 0) request.resolve();
      });
    } catch (error) {
      console.error('localtext: an embedding batch failed', error);
      for (const request of new Set(batch.map((item) => item.request))) request.reject(engineCrashed(error));
    }
  }

  #forget(request: Request): void {
    const rest = this.#waiting.filter((item) => item.request !== request);
    this.#waiting.splice(0, this.#waiting.length, ...rest);
  }

  async #sequences({ input }: EmbeddingJob, signal: AbortSignal): Promise<number[][]> {
    const { contextLength } = this.#variant;
    const sequences: number[][] = [];
    let since = performance.now();
    for (const [index, given] of ('texts' in input ? input.texts : input.tokens).entries()) {
      if (given.length > contextLength * MAX_CHARACTERS) {
        throw tooLong(
          index,
          `${given.length} characters, more than ${MAX_CHARACTERS} for each`,
          contextLength,
        );
      }
      const ids = typeof given === 'string' ? this.#embedder.tokenize(given) : this.#wrap(given, index);
      if (ids.length > contextLength) throw tooLong(index, String(ids.length), contextLength);
      sequences.push(ids);
      if (performance.now() - since < TOKENIZE_MS) continue;
      await yieldToEventLoop();
      signal.throwIfAborted();
      since = performance.now();
    }
    return sequences;
  }

  #wrap(ids: readonly number[], index: number): number[] {
    const wrapped = this.#embedder.wrap(ids);
    if (wrapped) return wrapped;
    throw badRequest(`\`input[${index}]\` holds a number that is no token of this model.`, `input[${index}]`);
  }

  #checkDimensions(asked: number | undefined): void {
    const { dimensions } = this.#variant;
    if (asked === undefined || asked === dimensions) return;
    throw badRequest(
      `\`dimensions\` must be omitted or ${dimensions}: this model's vectors cannot be shortened.`,
      'dimensions',
      'unsupported_value',
    );
  }
}

function tooLong(index: number, length: string, contextLength: number): EngineError {
  return badRequest(
    `This model's context holds ${contextLength} tokens, and input[${index}] has ${length}. Split or shorten it.`,
    `input[${index}]`,
    'context_length_exceeded',
  );
}
