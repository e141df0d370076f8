import { z } from '#base/full-zod';
import {
  type EmbeddingTraining,
  embeddingTraining,
  type EngineRules,
  hasProjector,
  type KvWindow,
  pooling,
  type SizedVariant,
  type VariantBase,
  type VariantSampling,
  vectorLength,
  weightBytes,
} from '#catalog/rules';

/** Chat, embeddings or reranking from a GGUF, in llama.cpp compiled to WASM. */
export interface WllamaVariant extends VariantBase, EmbeddingTraining {
  engine: 'wllama';
  sampling?: VariantSampling;
  /** Set for a model without a chat format, which only answers `/v1/completions`. Default: detected when it is loaded. */
  completionsOnly?: boolean;
  /**
   * Id of an embedding model that chooses the tool of a request with `tool_choice: "auto"`, for a model that is bad at
   * it. Default: the model itself chooses.
   */
  toolChooser?: string;
  /**
   * Number of values in the KV cache per token, to estimate memory: layers × key-value heads × (key + value size),
   * times four if one of these sizes is not a multiple of 32.
   */
  kvValues?: number;
  /** Part of `kvValues` in layers with a sliding window, and the window's length. */
  kvWindow?: KvWindow;
  /** Size of the recurrent layers' state in bytes, which does not depend on the context's length. */
  stateBytes?: number;
  /** Length of a vector. Set for embedding models only. */
  dimensions?: number;
  /** Pooling of an embedding model. Default: the file's. Set to `rank` for rerankers only. */
  pooling?: 'mean' | 'cls' | 'last_token' | 'rank';
}

/**
 * Number of replies that llama.cpp decodes in one batch; others wait in the queue. They share one KV cache; layers
 * with a sliding window keep a window for each.
 */
export const SLOTS = 4;
/** Multiple to which llama.cpp rounds up the cells of a window's cache. */
const CELLS = 256;

/** Number of values in a chat model's KV cache. */
function cachedValues({ kvValues = 0, kvWindow, contextLength }: CachedVariant): number {
  const { values, tokens } = kvWindow ?? { values: 0, tokens: 0 };
  const cells = Math.ceil((SLOTS * tokens + 1) / CELLS) * CELLS;
  return Math.max(0, kvValues - values) * contextLength + values * Math.min(contextLength, cells);
}

/** Number of conversations whose states are saved, for models with a window or a recurrent state. */
const SAVED = 4;
const MAX_CHECKPOINTS = 2;
/** Maximum plausible values of a token, and size of a state. */
const MAX_KV_VALUES = 2 ** 31;
const MAX_STATE_BYTES = 2 ** 32;
/** Size of a checkpoint above which only one is kept. */
const LARGE_STATE = 32e6;

type CachedVariant = Pick<SizedVariant, 'kvValues' | 'kvWindow' | 'stateBytes' | 'contextLength'>;

/**
 * Limits for saved prompt states. Windows and recurrent states cannot be rolled back, so
 * checkpoints of them are kept, too.
 */
export interface PromptStates {
  /** Number of checkpoints per running or saved prompt. */
  checkpoints: number;
  /** Size of a checkpoint. */
  checkpointBytes: number;
  /** Total size of the states of prompts outside the slots. */
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

/** Memory for code, compute buffers and workers, for any model. Measured: docs/decisions/memory-budget.md. */
const BASE_BYTES = 100e6;
/** Copies of the weights that a load creates and the browser frees later, as a fraction of the weights. */
export const COPIED_SHARE = 0.9;
/** Bytes per value of a KV cache in Q8_0: 34 bytes for 32 values. */
const KV_BYTES = 34 / 32;
/** Assumed KV cache of a variant without `kvValues`, as a fraction of the weights. */
const UNKNOWN_KV_SHARE = 0.2;
/** Memory to split a prompt's images into tiles: up to 90 MB each, for five images. */
const IMAGE_BYTES = 450e6;

/** Bytes per value of an embedding model's KV cache, in half floats. */
const EMBEDDER_KV_BYTES = 2;
/** Compute buffers per token of context, as a text is computed in one step. */
const EMBEDDER_TOKEN_BYTES = 100e3;

/** Memory for weights, their copies, and the engine itself. */
const loadedBytes = (variant: SizedVariant): number => BASE_BYTES + (1 + COPIED_SHARE) * weightBytes(variant);

/** Whether a model computes one result for a text, and generates none. */
export const isEncoder = ({
  dimensions,
  pooling: pooled,
}: Pick<SizedVariant, 'dimensions' | 'pooling'>): boolean => dimensions !== undefined || pooled === 'rank';

const embedderBytes = (variant: SizedVariant): number =>
  loadedBytes(variant) +
  variant.contextLength * (EMBEDDER_TOKEN_BYTES + EMBEDDER_KV_BYTES * (variant.kvValues ?? 0));

export const rules: EngineRules<WllamaVariant> = {
  engine: 'wllama',
  fields: {
    sampling: z
      .strictObject({
        topK: z.int().positive().optional(),
        minP: z.number().min(0).max(1).optional(),
        repeatPenalty: z.number().positive().max(2).optional(),
        frequencyPenalty: z.number().min(-2).max(2).optional(),
      })
      .optional(),
    completionsOnly: z.boolean().optional(),
    toolChooser: z.string().min(1).optional(),
    kvValues: z.int().positive().max(MAX_KV_VALUES).optional(),
    kvWindow: z.strictObject({ values: z.int().positive(), tokens: z.int().positive() }).optional(),
    stateBytes: z.int().positive().max(MAX_STATE_BYTES).optional(),
    dimensions: vectorLength.optional(),
    pooling: z.enum([...pooling.options, 'rank'], 'must be mean, cls, last_token or rank').optional(),
    ...embeddingTraining,
  },
  kinds: ({ dimensions, pooling: pooled }) => {
    if (pooled === 'rank') return ['rerank'];
    return [dimensions === undefined ? 'chat' : 'embedding'];
  },
  memory(variant) {
    const { kvValues } = variant;
    if (isEncoder(variant)) return { memoryBytes: embedderBytes(variant), promptStateBytes: 0 };
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
