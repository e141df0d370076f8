import type { TransformersVariant } from '../../catalog/catalog.ts';
import type { EmbeddingTraining } from '../../catalog/engines/engine-rules.ts';
import type { EmbeddingJob } from '../../jobs/embedding.ts';
import type { Events } from '../../jobs/kinds.ts';
import type { Engine } from '../engine.ts';
import { engineCrashed } from '../../errors/engine-errors.ts';
import { requestError, ServiceError } from '../../errors/service-error.ts';
import { withTimeout } from '../../util/async.ts';
import { beginEmbedding, inputTooLong, refuseOversizedInput, vectorFault } from '../embedding-rules.ts';
import { OneByOne, type TakesTurns, Turns } from '../turns.ts';
import { yieldToEventLoop } from '../../util/yield-to-event-loop.ts';

/**
 * Tokens of a batch, padding included. On the CPU padding costs as much as text, and 512 were quickest. On a GPU each
 * batch costs its launches: docs/decisions/gpu.md.
 */
const BATCH_TOKENS = { wasm: 512, webgpu: 2048 };

/**
 * Requests waiting for the CPU from which on batches are small, so that a new one waits for little: as many are often a
 * client's that has given the earlier ones up. Short texts of many requests still share a batch.
 */
const CROWD = 5;
const CROWD_TOKENS = 64;

export interface Sequence {
  readonly ids: readonly number[];
}

export interface BatchLimits {
  /** Padding included. */
  tokens?: number;
  sequences?: number;
}

/**
 * Takes the next batch out of the waiting sequences: around the one at `seed`, those of the most alike length, so
 * that there is little padding. At least one; more only while the padded batch stays within the limits.
 */
export function takeBatch<S extends Sequence>(
  waiting: S[],
  seed: S,
  { tokens = BATCH_TOKENS.wasm, sequences = Number.POSITIVE_INFINITY }: BatchLimits = {},
): S[] {
  const distance = ({ ids }: S) => Math.abs(ids.length - seed.ids.length);
  const candidates = waiting.filter((each) => each !== seed).toSorted((a, b) => distance(a) - distance(b));
  const batch = [seed];
  let longest = seed.ids.length;
  for (const candidate of candidates) {
    const padded = Math.max(longest, candidate.ids.length) * (batch.length + 1);
    if (padded > tokens || batch.length >= sequences) break;
    batch.push(candidate);
    longest = Math.max(longest, candidate.ids.length);
  }
  const taken = new Set(batch);
  const rest = waiting.filter((each) => !taken.has(each));
  waiting.splice(0, waiting.length, ...rest);
  return batch;
}

/**
 * How long a batch that no request waits for any more may go on: the graph of a hostile model may loop without an end. The
 * next request then loads the model again.
 */
const ABANDONED_MS = 30_000;

/** The model itself, as far as batching needs it. */
export interface Embedder {
  /** Token ids with the special ones that the model expects. */
  tokenize(text: string): number[];
  /** The same for ids from a client; null when one of them is no token of this model. */
  wrap(ids: readonly number[]): number[] | null;
  /** One L2-normalised vector for each sequence. */
  run(batch: readonly (readonly number[])[]): Promise<Float32Array<ArrayBuffer>[]>;
  dispose(): Promise<void>;
}

/** Tokenizing runs on this thread: it lets messages in, and the next request take its turn, after this many milliseconds. */
const TOKENIZE_MS = 10;

type Vector = Float32Array<ArrayBuffer>;

type EmbeddingFacts = Pick<
  TransformersVariant,
  'contextLength' | 'device' | 'dimensions' | 'maxBatchSize' | keyof EmbeddingTraining
>;

type Input = string | readonly number[];

interface Item {
  ids: number[];
  index: number;
  request: Request;
}

interface Request extends TakesTurns {
  vectors: Vector[];
  settled: boolean;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Embeds the texts of all requests under way together: in one batch after another. Each begins with a text of
 * the request whose turn it is, and is filled with the texts, of any request, that fit it best.
 */
export class TransformersEngine implements Engine<'embedding'> {
  readonly kind = 'embedding';
  readonly fingerprint: string;
  /** The texts of all requests share batches. */
  readonly slots = Number.POSITIVE_INFINITY;
  readonly facts = {};
  readonly #embedder: Embedder;
  readonly #variant: EmbeddingFacts;
  readonly #limits: BatchLimits;
  readonly #crowd: number;
  readonly #waiting: Item[] = [];
  readonly #tokenizing = new OneByOne();
  #yieldedAt = 0;
  /** Requests with texts waiting. */
  readonly #turns = new Turns<Request>();
  #running: Promise<void> | null = null;
  /** The batch under way. */
  #batch: readonly Item[] = [];
  #abandoned: ReturnType<typeof setTimeout> | undefined;

  constructor(embedder: Embedder, variant: EmbeddingFacts, fingerprint: string) {
    this.#embedder = embedder;
    this.#variant = variant;
    const { device = 'wasm', maxBatchSize: sequences } = variant;
    this.#limits = { tokens: BATCH_TOKENS[device], ...(sequences !== undefined && { sequences }) };
    this.#crowd = device === 'wasm' ? CROWD : Number.POSITIVE_INFINITY;
    this.fingerprint = fingerprint;
  }

  async *run(job: EmbeddingJob, signal: AbortSignal, onPrefill?: () => void): Events<'embedding'> {
    signal.throwIfAborted();
    onPrefill?.();
    const { input, toEvent } = beginEmbedding(job, this.#variant, this.fingerprint);
    const inputs: readonly Input[] = 'texts' in input ? input.texts : input.tokens;
    // One place in both queues: what is tokenized later need not have come later.
    const place: TakesTurns = { left: inputs.length };
    const sequences = await this.#sequences(inputs, place, signal);
    const promptTokens = sequences.reduce((sum, { length }) => sum + length, 0);
    yield toEvent(await this.#enqueue(sequences, place, signal), promptTokens);
  }

  async unload(): Promise<void> {
    if (this.#running) await withTimeout(this.#running, ABANDONED_MS);
    await this.#embedder.dispose();
  }

  #enqueue(sequences: number[][], place: TakesTurns, signal: AbortSignal): Promise<Vector[]> {
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        request.settled = true;
        signal.removeEventListener('abort', onAbort);
        // Its last texts may have filled the batch of another's turn.
        this.#forget(request);
      };
      const request: Request = {
        ...place,
        vectors: Array.from({ length: sequences.length }),
        left: sequences.length,
        settled: false,
        resolve: () => {
          settle();
          resolve(request.vectors);
        },
        reject: (error) => {
          settle();
          reject(error);
        },
      };
      const onAbort = () => {
        request.reject(signal.reason);
        this.#endAbandoned();
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#turns.push(request);
      this.#waiting.push(...sequences.map((ids, index) => ({ ids, index, request })));
      // Requests that arrive in the same task share the first batch.
      setTimeout(() => {
        this.#running ??= this.#runAll().finally(() => {
          this.#running = null;
        });
      });
    });
  }

  async #runAll(): Promise<void> {
    for (let batch = this.#nextBatch(); batch; batch = this.#nextBatch()) await this.#runBatch(batch);
  }

  #nextBatch(): Item[] | null {
    for (let turn = this.#turns.take(); turn; turn = this.#turns.take()) {
      const seed = this.#waiting.find(({ request }) => request === turn);
      if (!seed) continue;
      // Without the turn that was just taken.
      const isCrowd = this.#turns.size + 1 >= this.#crowd;
      const limits = isCrowd ? { ...this.#limits, tokens: CROWD_TOKENS } : this.#limits;
      const batch = takeBatch(this.#waiting, seed, limits);
      if (this.#waiting.some(({ request }) => request === turn)) this.#turns.push(turn);
      return batch;
    }
    return null;
  }

  async #runBatch(batch: Item[]): Promise<void> {
    this.#batch = batch;
    try {
      const vectors = await this.#embedder.run(batch.map(({ ids }) => ids));
      batch.forEach(({ request, index }, row) => {
        const vector = vectors[row];
        if (!vector) throw new Error('the model returned fewer vectors than texts');
        const fault = vectorFault(vector, this.#variant.dimensions);
        if (fault) return request.reject(fault);
        request.vectors[index] = vector;
        if (--request.left === 0) request.resolve();
      });
    } catch (error) {
      console.error('localtext: an embedding batch failed', error);
      // The worker's end has its own reason: a lost GPU.
      const failure = error instanceof ServiceError ? error : engineCrashed(error);
      for (const request of new Set(batch.map((item) => item.request))) request.reject(failure);
    } finally {
      this.#batch = [];
      clearTimeout(this.#abandoned);
      this.#abandoned = undefined;
    }
  }

  #endAbandoned(): void {
    if (this.#batch.length === 0 || !this.#batch.every(({ request }) => request.settled)) return;
    this.#abandoned ??= setTimeout(() => void this.#embedder.dispose(), ABANDONED_MS);
  }

  #forget(request: Request): void {
    this.#turns.delete(request);
    const rest = this.#waiting.filter((item) => item.request !== request);
    this.#waiting.splice(0, this.#waiting.length, ...rest);
  }

  async #sequences(inputs: readonly Input[], place: TakesTurns, signal: AbortSignal): Promise<number[][]> {
    const sequences: number[][] = [];
    let at = 0;
    while (at < inputs.length)
      await this.#tokenizing.run(place, async () => {
        if (performance.now() - this.#yieldedAt > TOKENIZE_MS) {
          await yieldToEventLoop();
          this.#yieldedAt = performance.now();
        }
        signal.throwIfAborted();
        do sequences.push(this.#sequence(inputs[at] ?? [], at++));
        while (at < inputs.length && performance.now() - this.#yieldedAt < TOKENIZE_MS);
        place.left = inputs.length - at;
      });
    return sequences;
  }

  #sequence(input: Input, index: number): number[] {
    const { contextLength } = this.#variant;
    refuseOversizedInput(input, index, contextLength);
    const ids = typeof input === 'string' ? this.#embedder.tokenize(input) : this.#wrap(input, index);
    if (ids.length > contextLength) throw inputTooLong(index, String(ids.length), contextLength);
    return ids;
  }

  #wrap(ids: readonly number[], index: number): number[] {
    const wrapped = this.#embedder.wrap(ids);
    if (wrapped) return wrapped;
    const at = `input[${index}]`;
    throw requestError(400, `\`${at}\` holds a number that is no token of this model.`, null, at);
  }
}
