import type { TransformersVariant } from './rules.ts';
import { createDeferred, engineCrashed, ServiceError, withTimeout, type Deferred } from '#base';
import type { Backend } from '#engine-kit';
import { vectorFault } from '../embedding-rules.ts';
import { PartTurns, type Parts } from '#scheduling';

/**
 * Maximum number of tokens in a batch, padding included. On the CPU padding costs as much as text, and 512 was
 * fastest. On a GPU each batch has the overhead of its kernel launches: docs/decisions/gpu.md.
 */
const BATCH_TOKENS = { wasm: 512, webgpu: 2048 };

/**
 * Minimum number of requests waiting for the CPU for which batches are small, so that a new request waits less: one
 * client has often abandoned the earlier ones. Short texts of many requests still share a batch.
 */
const CROWD = 5;
const CROWD_TOKENS = 64;

/** How long batches stay small after a request was aborted, in milliseconds: a search field sends the next request soon. */
const GIVEN_UP_MS = 5000;

/** Approximate number of waiting texts that a batch is chosen from. Comparing all would take longer than the batch. */
const CANDIDATES = 1024;

interface Sequence {
  readonly ids: readonly number[];
}

interface BatchLimits {
  /** Maximum number of tokens, padding included. */
  tokens: number;
  sequences: number;
}

/**
 * Fills a batch with the candidates closest in length to `seed`, which minimizes padding, while the
 * padded batch stays within the limits. `seed` alone may exceed them.
 * @param begun sequences that are already in the batch
 */
export function chooseBatch<S extends Sequence>(
  seed: S,
  candidates: readonly S[],
  { tokens, sequences }: BatchLimits,
  begun: readonly S[] = [seed],
): S[] {
  const batch = [...begun];
  let longest = Math.max(...batch.map(({ ids }) => ids.length));
  const distance = ({ ids }: S): number => Math.abs(ids.length - seed.ids.length);
  for (const candidate of candidates.toSorted((a, b) => distance(a) - distance(b))) {
    if (begun.includes(candidate)) continue;
    const padded = Math.max(longest, candidate.ids.length) * (batch.length + 1);
    if (padded > tokens || batch.length >= sequences) break;
    batch.push(candidate);
    longest = Math.max(longest, candidate.ids.length);
  }
  return batch;
}

/**
 * How long a batch may continue after all its requests are settled: a hostile model's graph may loop forever. The
 * next request then reloads the model.
 */
const ABANDONED_MS = 30_000;

type Vector = Float32Array<ArrayBuffer>;

export interface BatchRunner {
  /** Computes one L2-normalised vector per sequence. */
  run(batch: readonly (readonly number[])[]): Promise<Vector[]>;
  dispose(): void;
}

export type BatchVariant = Pick<TransformersVariant, 'backend' | 'dimensions' | 'maxBatchSize'>;

interface Item {
  ids: number[];
  index: number;
  request: Request;
}

interface Request extends Parts {
  /** Texts that are not in a batch yet. */
  waiting: readonly Item[];
  vectors: Vector[];
  isSettled: boolean;
  answer: Deferred<Vector[]>;
}

/**
 * Embeds the texts of all pending requests in shared batches, one after another. A batch begins with a text of the
 * request that is due, and is filled with the texts of any request that are closest in length.
 */
export class EmbeddingBatches {
  readonly #runner: BatchRunner;
  readonly #dimensions: number;
  readonly #backend: Backend;
  readonly #usualLimits: BatchLimits;
  /** Time at which a request was last aborted. */
  #givenUpAt = Number.NEGATIVE_INFINITY;
  /** Requests with waiting texts, in the order in which they began to wait for a batch. */
  #queue: Request[] = [];
  readonly #turns = new PartTurns();
  #running: Promise<void> | null = null;
  #runningBatch: readonly Item[] = [];
  #abandoned: ReturnType<typeof setTimeout> | undefined;

  constructor(runner: BatchRunner, { dimensions, backend = 'wasm', maxBatchSize = Infinity }: BatchVariant) {
    this.#runner = runner;
    this.#dimensions = dimensions;
    this.#backend = backend;
    this.#usualLimits = { tokens: BATCH_TOKENS[backend], sequences: maxBatchSize };
  }

  noteGivenUp(): void {
    this.#givenUpAt = performance.now();
  }

  /** Waits for the running batch. */
  async finish(): Promise<void> {
    if (this.#running) await withTimeout(this.#running, ABANDONED_MS);
  }

  async embed(texts: readonly number[][], place: Parts, signal: AbortSignal): Promise<Vector[]> {
    const request: Request = {
      ...place,
      waiting: [],
      vectors: Array.from({ length: texts.length }),
      left: texts.length,
      isSettled: false,
      answer: createDeferred(),
    };
    request.waiting = texts.map((ids, index) => ({ ids, index, request }));
    this.#queue.push(request);
    const onAbort = () => {
      this.#fail(request, signal.reason);
      this.#endAbandoned();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    // Requests that arrive in the same task share the first batch.
    setTimeout(() => {
      this.#running ??= this.#runAll().finally(() => {
        this.#running = null;
      });
    });
    try {
      return await request.answer.promise;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  #fail(request: Request, error: unknown): void {
    if (request.isSettled) return;
    request.isSettled = true;
    this.#stopWaiting(request);
    request.answer.resolve(Promise.reject(error));
  }

  async #runAll(): Promise<void> {
    for (let batch = this.#nextBatch(); batch; batch = this.#nextBatch()) await this.#runBatch(batch);
  }

  #nextBatch(): Item[] | null {
    const due = this.#turns.next(this.#queue);
    const [seed] = due?.waiting ?? [];
    return due && seed ? this.#takeBatch(seed, due) : null;
  }

  #stopWaiting(request: Request): void {
    this.#queue = this.#queue.filter((each) => each !== request);
  }

  #takeBatch(seed: Item, due: Request): Item[] {
    const isCrowd =
      this.#backend === 'wasm' &&
      (this.#queue.length >= CROWD || performance.now() - this.#givenUpAt < GIVEN_UP_MS);
    const limits = isCrowd ? { ...this.#usualLimits, tokens: CROWD_TOKENS } : this.#usualLimits;
    // In a crowd, prefer the request's own texts: if their lengths differ, it would need a batch for each.
    const begun = isCrowd ? chooseBatch(seed, due.waiting.slice(0, CANDIDATES), limits) : [seed];
    const batch = chooseBatch(seed, this.#candidatesFor(due), limits, begun);
    const batched = new Set(batch);
    for (const request of new Set(batch.map((item) => item.request))) {
      request.waiting = request.waiting.filter((item) => !batched.has(item));
      if (request.waiting.length === 0) this.#stopWaiting(request);
    }
    if (due.waiting.length > 0) {
      this.#stopWaiting(due);
      this.#queue.push(due);
    }
    return batch;
  }

  /** Lists waiting texts, those of the request first. */
  #candidatesFor(due: Request): Item[] {
    const candidates: Item[] = [];
    for (const { waiting } of [due, ...this.#queue.filter((each) => each !== due)]) {
      if (candidates.length >= CANDIDATES) break;
      candidates.push(...waiting.slice(0, CANDIDATES));
    }
    return candidates;
  }

  async #runBatch(batch: Item[]): Promise<void> {
    this.#runningBatch = batch;
    try {
      const vectors = await this.#runner.run(batch.map(({ ids }) => ids));
      batch.forEach(({ request, index }, row) => {
        const vector = vectors[row] ?? new Float32Array(0);
        const fault = vectorFault(vector, this.#dimensions);
        if (fault) return this.#fail(request, fault);
        request.vectors[index] = vector;
        if (--request.left > 0) return;
        request.isSettled = true;
        request.answer.resolve(request.vectors);
      });
    } catch (error) {
      console.error('localtext: an embedding batch failed', error);
      // A ServiceError is the reason why the worker ended, such as a lost GPU.
      const failure = error instanceof ServiceError ? error : engineCrashed(error);
      for (const request of new Set(batch.map((item) => item.request))) this.#fail(request, failure);
    } finally {
      this.#runningBatch = [];
      clearTimeout(this.#abandoned);
      this.#abandoned = undefined;
    }
  }

  #endAbandoned(): void {
    if (this.#runningBatch.length === 0 || !this.#runningBatch.every(({ request }) => request.isSettled))
      return;
    this.#abandoned ??= setTimeout(() => this.#runner.dispose(), ABANDONED_MS);
  }
}
