import { z } from '../../util/full-zod.ts';
import { hasProjector, type VariantBase, weightBytes } from '../variant.ts';
import {
  type EmbeddingTraining,
  embeddingTraining,
  type EngineRules,
  type KvWindow,
  pooling,
  type SizedVariant,
  vectorLength,
} from './engine-rules.ts';

/** Sampling settings that OpenAI's API does not have, applied to every request. */
export interface VariantSampling {
  /** Keeps the most probable tokens, this many. Default: all. */
  topK?: number;
  /** Drops tokens less probable than this share (0 to 1) of the most probable one. Default 0: none. */
  minP?: number;
  /** Divides the scores of recent tokens; 1 (the default) changes nothing. */
  repeatPenalty?: number;
  /** OpenAI's `frequency_penalty` (-2 to 2) of requests that name none, for free text at a temperature above 0. Default 0. */
  frequencyPenalty?: number;
}

/** Chat, or embeddings, from a GGUF by llama.cpp compiled to WASM. */
export interface WllamaVariant extends VariantBase, EmbeddingTraining {
  engine: 'wllama';
  sampling?: VariantSampling;
  /**
   * Keeps what the model's chat template adds by itself, such as a default system message. Otherwise a prompt has the
   * caller's messages alone.
   */
  keepTemplateText?: boolean;
  /** The model has no notation for conversations: it is for `/v1/completions` alone. Default: found when it is loaded. */
  completionsOnly?: boolean;
  /**
   * Values that the KV cache holds for each token, for the estimate of memory: layers × key-value heads × (key + value size),
   * four times that where one of these sizes is no multiple of 32.
   */
  kvValues?: number;
  /** Layers with a sliding window: how many of `kvValues` are theirs, and the tokens that they see. */
  kvWindow?: KvWindow;
  /** Embedding models only, and what makes it one: the length of a vector. */
  dimensions?: number;
  /** Embedding models only. Default: as the file says. */
  pooling?: 'mean' | 'cls' | 'last_token';
}

/**
 * Replies that llama.cpp decodes in one batch; more wait in the scheduler. They share one cache, and a layer with a sliding
 * window keeps a window for each.
 */
export const SLOTS = 4;
/** llama.cpp rounds the cells of a window's cache up. */
const CELLS = 256;

/** KV cache of a chat model, in values. */
function cachedValues({ kvValues = 0, kvWindow, contextLength }: SizedVariant): number {
  const { values, tokens } = kvWindow ?? { values: 0, tokens: 0 };
  const cells = Math.ceil((SLOTS * tokens + 1) / CELLS) * CELLS;
  return Math.max(0, kvValues - values) * contextLength + values * Math.min(contextLength, cells);
}

/** Code, buffers to compute a step, and the engine's workers, whatever the model. Measured: docs/decisions/memory-budget.md. */
const BASE_BYTES = 100e6;
/** Copies of the weights that a load makes, and the browser frees later, as a share of the weights. */
export const COPIED_SHARE = 0.9;
/** A value of the KV cache in Q8_0: 34 bytes for 32. */
const KV_BYTES = 34 / 32;
/** Share of the weights, for a variant that does not say how large its KV cache is. */
const UNKNOWN_KV_SHARE = 0.2;
/** Memory to cut the images of a prompt into tiles: up to 90 MB each, for five of them. */
const IMAGE_BYTES = 450e6;

/** A value of an embedding model's KV cache: half floats. */
const EMBEDDER_KV_BYTES = 2;
/** Buffers to compute a whole text in one step, for each of its tokens. */
const EMBEDDER_TOKEN_BYTES = 100e3;

/** Weights, their copies, and what every model takes. */
const loadedBytes = (variant: SizedVariant): number => BASE_BYTES + (1 + COPIED_SHARE) * weightBytes(variant);

const embedderBytes = (variant: SizedVariant): number =>
  loadedBytes(variant) +
  variant.contextLength * (EMBEDDER_TOKEN_BYTES + EMBEDDER_KV_BYTES * (variant.kvValues ?? 0));

export const llamaCpp: EngineRules<WllamaVariant> = {
  fields: {
    sampling: z
      .strictObject({
        topK: z.int().positive().optional(),
        minP: z.number().min(0).max(1).optional(),
        repeatPenalty: z.number().positive().max(2).optional(),
        frequencyPenalty: z.number().min(-2).max(2).optional(),
      })
      .optional(),
    keepTemplateText: z.boolean().optional(),
    completionsOnly: z.boolean().optional(),
    kvValues: z
      .int()
      .positive()
      .max(2 ** 31)
      .optional(),
    kvWindow: z.strictObject({ values: z.int().positive(), tokens: z.int().positive() }).optional(),
    dimensions: vectorLength.optional(),
    pooling: pooling.optional(),
    ...embeddingTraining,
  },
  kinds: ({ dimensions }) => [dimensions === undefined ? 'chat' : 'embedding'],
  memory(variant) {
    const { kvValues, dimensions } = variant;
    if (dimensions !== undefined) return { memoryBytes: embedderBytes(variant), promptStateBytes: 0 };
    const kvCache =
      kvValues === undefined ? weightBytes(variant) * UNKNOWN_KV_SHARE : cachedValues(variant) * KV_BYTES;
    // llama.cpp keeps states of as many tokens as its context holds.
    const promptStateBytes = Math.round(kvCache);
    const images = hasProjector(variant) ? IMAGE_BYTES : 0;
    return { memoryBytes: loadedBytes(variant) + kvCache + promptStateBytes + images, promptStateBytes };
  },
};
