import type { EmbeddingTraining } from '#catalog';
import type { TransformersVariant } from './rules.ts';
import type { EmbeddingJob } from '#jobs';
import type { Engine } from '#engine-kit';
import { engineCrashed, rateLimited, requestError, ServiceError, abortable, withTimeout } from '#base';
import {
  beginEmbedding,
  type Embedding,
  inputTooLong,
  noTokens,
  refuseOversizedInput,
  vectorFault,
} from '../embedding-rules.ts';
import type { TextTokenizer } from '../onnx/text-tokenizer.ts';
import { inParts, PartQueue, PartTurns, type Parts } from '#scheduling';

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

/** Maximum number of texts in all pending requests. */
const MAX_TEXTS = 2 ** 18;
const RETRY_AFTER_MS = 5000;
const TOO_MANY_TEXTS = `Pending requests have reached this model's limit of ${MAX_TEXTS} texts. Retry in ${RETRY_AFTER_MS / 1000} s.`;

export interface Sequence {
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

/** Model and tokenizer, as batching uses them. */
export interface Embedder {
  tokenizer: Pick<TextTokenizer, 'tokenize' | 'wrap'>;
  /** Computes one L2-normalised vector per sequence. */
  run(batch: readonly (readonly number[])[]): Promise<Float32Array<ArrayBuffer>[]>;
  /** Ends the workers of both. */
  dispose(): void;
}

/** Number of characters after which a tokenizing slice ends; it has at least one text. About 5 ms. */
const SLICE_CHARACTERS = 8192;

type Vector = Float32Array<ArrayBuffer>;

type EmbedderVariant = Pick<
  TransformersVariant,
  'contextLength' | 'backend' | 'dimensions' | 'maxBatchSize' | keyof EmbeddingTraining
>;

interface Item {
  ids: number[];
  index: number;
  request: Request;
}

interface Request extends Parts {
  /** Texts that are not in a batch yet. */
  waiting: readonly Item[];
  vectors: Vector[];
  settled: boolean;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Embeds the texts of all pending requests in shared batches, one after another. A batch begins with a text of the
 * request that is due, and is filled with the texts of any request that are closest in length.
 */
export function transformersEngine(
  embedder: Embedder,
  variant: EmbedderVariant,
  fingerprint: string,
): Engine<'embedding'> {
  const { contextLength, dimensions, backend = 'wasm', maxBatchSize: sequences = Infinity } = variant;
  const usualLimits = { tokens: BATCH_TOKENS[backend], sequences };
  /** Time at which a request was last aborted. */
  let givenUpAt = Number.NEGATIVE_INFINITY;
  const tokenizing = new PartQueue();
  /** Number of texts in all pending requests. */
  let pendingTexts = 0;
  /** Requests with waiting texts, in the order in which they began to wait for a batch. */
  let queue: Request[] = [];
  const turns = new PartTurns();
  let running: Promise<void> | null = null;
  /** The running batch. */
  let runningBatch: readonly Item[] = [];
  let abandoned: ReturnType<typeof setTimeout> | undefined;

  function enqueue(texts: readonly number[][], place: Parts, signal: AbortSignal): Promise<Vector[]> {
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        request.settled = true;
        signal.removeEventListener('abort', onAbort);
        stopWaiting(request);
      };
      const request: Request = {
        ...place,
        waiting: [],
        vectors: Array.from({ length: texts.length }),
        left: texts.length,
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
        endAbandoned();
      };
      signal.addEventListener('abort', onAbort, { once: true });
      request.waiting = texts.map((ids, index) => ({ ids, index, request }));
      queue.push(request);
      // Requests that arrive in the same task share the first batch.
      setTimeout(() => {
        running ??= runAll().finally(() => {
          running = null;
        });
      });
    });
  }

  async function runAll(): Promise<void> {
    for (let batch = nextBatch(); batch; batch = nextBatch()) await runBatch(batch);
  }

  function nextBatch(): Item[] | null {
    const due = turns.next(queue);
    const [seed] = due?.waiting ?? [];
    return due && seed ? takeBatch(seed, due) : null;
  }

  function stopWaiting(request: Request): void {
    queue = queue.filter((each) => each !== request);
  }

  function takeBatch(seed: Item, due: Request): Item[] {
    const isCrowd =
      backend === 'wasm' && (queue.length >= CROWD || performance.now() - givenUpAt < GIVEN_UP_MS);
    const limits = isCrowd ? { ...usualLimits, tokens: CROWD_TOKENS } : usualLimits;
    // In a crowd, prefer the request's own texts: if their lengths differ, it would need a batch for each.
    const begun = isCrowd ? chooseBatch(seed, due.waiting.slice(0, CANDIDATES), limits) : [seed];
    const batch = chooseBatch(seed, candidatesFor(due), limits, begun);
    const batched = new Set(batch);
    for (const request of new Set(batch.map((item) => item.request))) {
      request.waiting = request.waiting.filter((item) => !batched.has(item));
      if (request.waiting.length === 0) stopWaiting(request);
    }
    if (due.waiting.length > 0) {
      stopWaiting(due);
      queue.push(due);
    }
    return batch;
  }

  /** Lists waiting texts, those of the request first. */
  function candidatesFor(due: Request): Item[] {
    const candidates: Item[] = [];
    for (const { waiting } of [due, ...queue.filter((each) => each !== due)]) {
      if (candidates.length >= CANDIDATES) break;
      candidates.push(...waiting.slice(0, CANDIDATES));
    }
    return candidates;
  }

  async function runBatch(batch: Item[]): Promise<void> {
    runningBatch = batch;
    try {
      const vectors = await embedder.run(batch.map(({ ids }) => ids));
      batch.forEach(({ request, index }, row) => {
        const vector = vectors[row] ?? new Float32Array(0);
        const fault = vectorFault(vector, dimensions);
        if (fault) return request.reject(fault);
        request.vectors[index] = vector;
        if (--request.left === 0) request.resolve();
      });
    } catch (error) {
      console.error('localtext: an embedding batch failed', error);
      // A ServiceError is the reason why the worker ended, such as a lost GPU.
      const failure = error instanceof ServiceError ? error : engineCrashed(error);
      for (const request of new Set(batch.map((item) => item.request))) request.reject(failure);
    } finally {
      runningBatch = [];
      clearTimeout(abandoned);
      abandoned = undefined;
    }
  }

  function endAbandoned(): void {
    if (runningBatch.length === 0 || !runningBatch.every(({ request }) => request.settled)) return;
    abandoned ??= setTimeout(() => embedder.dispose(), ABANDONED_MS);
  }

  async function tokenizeAll(embedding: Embedding, place: Parts, signal: AbortSignal): Promise<number[][]> {
    const tokenized: number[][] = [];
    while (place.left > 0) {
      const slice = tokenizing.run(place, async () => {
        signal.throwIfAborted();
        const next = await tokenizeSlice(embedding, tokenized.length);
        place.left -= next.length;
        return next;
      });
      // An abort ends the wait; the slice lasts until its texts are tokenized.
      tokenized.push(...(await abortable(slice, signal)));
    }
    return tokenized;
  }

  /** Tokenizes the inputs of one slice, starting at `from`. */
  async function tokenizeSlice({ input, placeOf, cutOf }: Embedding, from: number): Promise<number[][]> {
    const inputs: readonly (string | Float64Array)[] = inputsOf(input);
    const cutTo = cutOf(from);
    let end = from;
    for (let characters = 0; end < inputs.length && characters < SLICE_CHARACTERS; end++) {
      if (cutOf(end) !== cutTo) break;
      const next = inputs[end] ?? '';
      refuseOversizedInput(next, placeOf(end), contextLength);
      characters += next.length;
    }
    const tokenized =
      'texts' in input
        ? await embedder.tokenizer.tokenize(input.texts.slice(from, end), cutTo)
        : input.tokens.slice(from, end).map((ids, at) => wrap(Array.from(ids), from + at));
    return tokenized.map((ids, at) => {
      const length = typeof ids === 'number' ? ids : ids.length;
      if (typeof ids === 'number' || length > contextLength)
        throw inputTooLong(placeOf(from + at), String(length), contextLength);
      if (length === 0) throw noTokens(placeOf(from + at));
      return ids;
    });
  }

  function wrap(ids: readonly number[], index: number): number[] {
    const wrapped = embedder.tokenizer.wrap(ids);
    if (wrapped) return wrapped;
    const at = `input[${index}]`;
    throw requestError(400, `\`${at}\` has a token id that this model lacks.`, null, at);
  }

  return {
    kind: 'embedding',
    fingerprint,
    /** Unlimited, as requests share batches. */
    slots: Infinity,
    traits: {},
    async *run(job, signal, onPrefill) {
      signal.throwIfAborted();
      onPrefill?.();
      const embedding = beginEmbedding(job, variant, fingerprint);
      const { length } = inputsOf(embedding.input);
      if (pendingTexts + length > MAX_TEXTS) throw rateLimited(TOO_MANY_TEXTS, RETRY_AFTER_MS);
      pendingTexts += length;
      try {
        // Both queues share the arrival number: requests need not be tokenized in order of arrival.
        const place = inParts(length, job.client);
        const tokenized = await tokenizeAll(embedding, place, signal);
        const promptTokens = tokenized.reduce((sum, ids) => sum + ids.length, 0);
        signal.throwIfAborted();
        yield embedding.toEvent(await enqueue(tokenized, place, signal), promptTokens);
      } finally {
        pendingTexts -= length;
        if (signal.aborted) givenUpAt = performance.now();
      }
    },
    async unload() {
      if (running) await withTimeout(running, ABANDONED_MS);
      embedder.dispose();
    },
  };
}

const inputsOf = (input: EmbeddingJob['input']) => ('texts' in input ? input.texts : input.tokens);
