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
  /** Layers without attention: bytes that they keep of a conversation, whatever its length. */
  stateBytes?: number;
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
function cachedValues({ kvValues = 0, kvWindow, contextLength }: CachedVariant): number {
  const { values, tokens } = kvWindow ?? { values: 0, tokens: 0 };
  const cells = Math.ceil((SLOTS * tokens + 1) / CELLS) * CELLS;
  return Math.max(0, kvValues - values) * contextLength + values * Math.min(contextLength, cells);
}

/** Conversations whose saved states fit, of models that keep more of one than keys and values of its tokens. */
const SAVED = 4;
const MAX_CHECKPOINTS = 2;
/** A larger one is a mistake. */
const MAX_STATE_BYTES = 2 ** 32;
/** A state of more bytes has one checkpoint alone. */
const LARGE_STATE = 32e6;

type CachedVariant = Pick<SizedVariant, 'kvValues' | 'kvWindow' | 'stateBytes' | 'contextLength'>;

/** What llama.cpp may keep of prompts: a window or a recurrent state cannot go back, so that it keeps earlier ones, too. */
export interface PromptStates {
  /** Earlier states of each running reply, and of each saved one. */
  checkpoints: number;
  /** Bytes of one. */
  checkpointBytes: number;
  /** Bytes of the states of prompts that are in no slot. */
  savedBytes: number;
}

export function promptStates({
  kvValues = 0,
  kvWindow,
  stateBytes = 0,
  contextLength,
}: CachedVariant): PromptStates {
  const { values, tokens } = kvWindow ?? { values: 0, tokens: 0 };
  const checkpointBytes = stateBytes + values * KV_BYTES * Math.min(contextLength, tokens);
  const checkpoints = checkpointBytes > LARGE_STATE ? 1 : MAX_CHECKPOINTS;
  const wholeBytes = Math.max(0, kvValues - values) * contextLength * KV_BYTES;
  return {
    checkpoints,
    checkpointBytes,
    savedBytes: wholeBytes + SAVED * (1 + checkpoints) * checkpointBytes,
  };
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
    stateBytes: z.int().positive().max(MAX_STATE_BYTES).optional(),
    dimensions: vectorLength.optional(),
    pooling: pooling.optional(),
    ...embeddingTraining,
  },
  kinds: ({ dimensions }) => [dimensions === undefined ? 'chat' : 'embedding'],
  memory(variant) {
    const { kvValues, dimensions } = variant;
    if (dimensions !== undefined) return { memoryBytes: embedderBytes(variant), promptStateBytes: 0 };
    const { stateBytes = 0 } = variant;
    const isKnown = kvValues !== undefined || stateBytes > 0;
    const kvCache = isKnown ? cachedValues(variant) * KV_BYTES : weightBytes(variant) * UNKNOWN_KV_SHARE;
    const { checkpoints, checkpointBytes, savedBytes } = promptStates(variant);
    const promptStateBytes = Math.round(
      isKnown ? savedBytes + SLOTS * checkpoints * checkpointBytes : kvCache,
    );
    const images = hasProjector(variant) ? IMAGE_BYTES : 0;
    const ownBytes = loadedBytes(variant) + kvCache + SLOTS * stateBytes + images;
    return { memoryBytes: ownBytes + promptStateBytes, promptStateBytes };
  },
};
