import { z } from '#base/full-zod';
import type { ModelKind } from '#jobs';
import { type VariantBase, weightBytes } from './variant.ts';
import { isHttpUrl } from './weight-path.ts';

/** Part of a KV cache that only holds the last tokens (sliding window). */
export interface KvWindow {
  /** Number of values per token. */
  values: number;
  /** Length of the window. */
  tokens: number;
}

/** Fields of a variant that its memory depends on. */
export interface SizedVariant extends Pick<VariantBase, 'engine' | 'contextLength' | 'hub' | 'needs'> {
  files: readonly Pick<VariantBase['files'][number], 'bytes' | 'role'>[];
  kvValues?: number;
  kvWindow?: KvWindow;
  stateBytes?: number;
  /** Set for embedding models. */
  dimensions?: number;
  /** `rank` for rerankers. */
  pooling?: string;
}

export interface MemoryEstimate {
  /** Memory of a loaded variant in bytes: weights, KV cache of the full context, saved prompt states, engine. */
  memoryBytes: number;
  /** Maximum part of `memoryBytes` for saved states of earlier prompts. */
  promptStateBytes: number;
}

export type { VariantSampling } from './default-sampling.ts';
export { hasProjector, weightBytes, type VariantBase } from './variant.ts';
export { weightPath } from './weight-path.ts';

type OwnField<V> = Exclude<keyof V, keyof VariantBase>;

/** Rules for an engine's variants, which page, command line and worker use without the engine's code. */
export interface EngineRules<V extends VariantBase = VariantBase> {
  /** `engine` of its variants: the name of the engine's folder. */
  engine: V['engine'];
  /** Schemas of the fields that only this engine's variants have. */
  fields: Record<OwnField<V>, z.ZodType>;
  /** Lists the kinds that such a model can have, the most likely first. */
  kinds(variant: Readonly<Record<string, unknown>>): readonly ModelKind[];
  /** Set if its variants need a GPU unless they say otherwise. */
  needsGpu?: true;
  /** Files that the engine reads from a repository if the catalog lists none. `noun` names them in messages. */
  hubFiles?: { names: RegExp; noun: string };
  /** Path of a file outside the variant's repository. Without a `url`, it must be in the models folder. */
  otherFile?(variant: V): { path: string; url?: string };
  /** Estimates memory. Absent if the engine's variants have no weights. */
  memory?(variant: SizedVariant): MemoryEstimate;
}

/** Estimates memory as `base` bytes plus `share` bytes per byte of weights. */
export const proportional =
  (base: number, share: number) =>
  (variant: SizedVariant): MemoryEstimate => ({
    memoryBytes: base + share * weightBytes(variant),
    promptStateBytes: 0,
  });

export const backend = z.enum(['wasm', 'webgpu'], 'must be wasm or webgpu');
export const httpUrl = z.string().refine(isHttpUrl, 'must be a URL of https or http, without a user name');
export const pooling = z.enum(['mean', 'cls', 'last_token'], 'must be mean, cls or last_token');
export const vectorLength = z.int().positive().max(65_536);

/** Features that an embedding model was trained for. */
export interface EmbeddingTraining {
  /** Prefixes that the model expects before queries and documents. A request's `input_type` selects one. */
  prefixes?: { query: string; document: string };
  /**
   * Minimum `dimensions` that a request may ask for, if the model was trained for shorter vectors (Matryoshka).
   * Default: vectors cannot be shortened.
   */
  minDimensions?: number;
}

/** Schema of a prefix of queries or documents. */
const prefix = z.string().max(1000);
export const embeddingTraining = {
  prefixes: z.strictObject({ query: prefix, document: prefix }).optional(),
  minDimensions: vectorLength.optional(),
};
