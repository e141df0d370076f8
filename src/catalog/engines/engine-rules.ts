import { z } from '../../util/full-zod.ts';
import type { ModelKind } from '../../jobs/kinds.ts';
import { type VariantBase, weightBytes } from '../variant.ts';

/** The part of a KV cache that holds the last tokens alone. */
export interface KvWindow {
  /** Values for each token. */
  values: number;
  tokens: number;
}

/** The parts of a variant that its memory depends on. */
export interface SizedVariant extends Pick<VariantBase, 'engine' | 'contextLength' | 'hub' | 'needs'> {
  files: readonly Pick<VariantBase['files'][number], 'bytes' | 'role'>[];
  kvValues?: number;
  kvWindow?: KvWindow;
  stateBytes?: number;
  /** Embedding models only. */
  dimensions?: number;
}

export interface MemoryEstimate {
  /** Memory of a loaded variant: weights, KV cache at the context length, saved prompt states, engine. */
  memoryBytes: number;
  /** Part of it that saved states of earlier prompts take, at most. */
  promptStateBytes: number;
}

type OwnField<V> = Exclude<keyof V, keyof VariantBase>;

/** Rules of an engine's variants, for page, command line and worker, without the engine's code. */
export interface EngineRules<V extends VariantBase = VariantBase> {
  /** Schemas of the variant's own fields. */
  fields: Record<OwnField<V>, z.ZodType>;
  /** Kinds that such a model can have, the likeliest first. */
  kinds(variant: Readonly<Record<string, unknown>>): readonly ModelKind[];
  /** The files that the engine reads of a repository for which the catalog lists none, and what they are together. */
  hubFiles?: { names: RegExp; noun: string };
  /** A file that lies elsewhere than the variant's repository. Without a `url`, in the models folder alone. */
  otherFile?(variant: V): { path: string; url?: string };
  /** Memory on this device. Absent: its variants run elsewhere and have no weights. */
  memory?(variant: SizedVariant): MemoryEstimate;
}

/** Memory of an engine that takes `base` bytes, and `share` bytes for each byte of weights. */
export const proportional =
  (base: number, share: number) =>
  (variant: SizedVariant): MemoryEstimate => ({
    memoryBytes: base + share * weightBytes(variant),
    promptStateBytes: 0,
  });

export const backend = z.enum(['wasm', 'webgpu'], 'must be wasm or webgpu');
export const httpUrl = z.url({
  protocol: /^https?$/,
  error: 'must be a URL that begins with https:// or http://',
});
export const pooling = z.enum(['mean', 'cls', 'last_token'], 'must be mean, cls or last_token');
export const vectorLength = z.int().positive().max(65_536);

/** What an embedding model was trained for. */
export interface EmbeddingTraining {
  /** Texts that the model was trained to find before a query and before a document. A request's `input_type` chooses. */
  prefixes?: { query: string; document: string };
  /**
   * Shortest vector that a request may ask for with `dimensions`: of a model that was trained for shorter vectors
   * (Matryoshka). Default: none may be shortened.
   */
  minDimensions?: number;
}

/** Text before a query or a document. */
export const prefix = z.string().max(1000);
export const embeddingTraining = {
  prefixes: z.strictObject({ query: prefix, document: prefix }).optional(),
  minDimensions: vectorLength.optional(),
};
