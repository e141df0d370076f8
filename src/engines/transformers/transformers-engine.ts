import type { EmbeddingTraining } from '#catalog';
import type { TransformersVariant } from './rules.ts';
import type { EmbeddingJob } from '#jobs';
import type { Engine } from '#engine-kit';
import { rateLimited, requestError, abortable } from '#base';
import {
  beginEmbedding,
  type Embedding,
  inputTooLong,
  noTokens,
  refuseOversizedInput,
} from '../embedding-rules.ts';
import type { TextTokenizer } from '../onnx/text-tokenizer.ts';
import { inParts, PartQueue, type Parts } from '#scheduling';
import { EmbeddingBatches, type BatchRunner, type BatchVariant } from './embedding-batches.ts';

/** Maximum number of texts in all pending requests. */
const MAX_TEXTS = 2 ** 18;
const RETRY_AFTER_MS = 5000;
const TOO_MANY_TEXTS = `Pending requests have reached this model's limit of ${MAX_TEXTS} texts. Retry in ${RETRY_AFTER_MS / 1000} s.`;

/** Model and tokenizer. `dispose()` ends the workers of both. */
export interface Embedder extends BatchRunner {
  tokenizer: Pick<TextTokenizer, 'tokenize' | 'wrap'>;
}

/** Number of characters after which a tokenizing slice ends; it has at least one text. About 5 ms. */
const SLICE_CHARACTERS = 8192;

type EmbedderVariant = Pick<
  TransformersVariant,
  'contextLength' | keyof BatchVariant | keyof EmbeddingTraining
>;

/** Tokenizes the texts of requests in slices, and embeds them in batches that requests share. */
export function transformersEngine(
  embedder: Embedder,
  variant: EmbedderVariant,
  fingerprint: string,
): Engine<'embedding'> {
  const { contextLength } = variant;
  const batches = new EmbeddingBatches(embedder, variant);
  const tokenizing = new PartQueue();
  /** Number of texts in all pending requests. */
  let pendingTexts = 0;

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
      const embedding = beginEmbedding(job, variant, fingerprint);
      const { length } = inputsOf(embedding.input);
      if (pendingTexts + length > MAX_TEXTS) throw rateLimited(TOO_MANY_TEXTS, RETRY_AFTER_MS);
      pendingTexts += length;
      try {
        // Both queues share the arrival number: requests need not be tokenized in order of arrival.
        const place = inParts(length, job.client);
        const tokenized = await tokenizeAll(embedding, place, signal);
        onPrefill?.();
        const promptTokens = tokenized.reduce((sum, ids) => sum + ids.length, 0);
        signal.throwIfAborted();
        yield embedding.toEvent(await batches.embed(tokenized, place, signal), promptTokens);
      } finally {
        pendingTexts -= length;
        if (signal.aborted) batches.noteGivenUp();
      }
    },
    async unload() {
      await batches.finish();
      embedder.dispose();
    },
  };
}

const inputsOf = (input: EmbeddingJob['input']) => ('texts' in input ? input.texts : input.tokens);
