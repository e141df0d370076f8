import { z } from '../../util/full-zod.ts';
import type { VariantBase } from '../variant.ts';
import {
  backend,
  type EmbeddingTraining,
  embeddingTraining,
  type EngineRules,
  pooling,
  proportional,
  vectorLength,
} from './engine-rules.ts';

/** Embeddings by transformers.js on onnxruntime-web. */
export interface TransformersVariant extends VariantBase, EmbeddingTraining {
  engine: 'transformers';
  /** Backend. Default: WASM, or the GPU once it has been measured to be faster, and right. */
  device?: 'wasm' | 'webgpu';
  /** Length of a vector. */
  dimensions: number;
  pooling: 'mean' | 'cls' | 'last_token';
  /**
   * Texts that may be in the model at once; none: as many as are quickest. 1 for a graph that quantizes by all it is
   * given: a text's vector would depend on its neighbours.
   */
  maxBatchSize?: number;
}

export const transformers: EngineRules<TransformersVariant> = {
  fields: {
    dimensions: vectorLength,
    pooling,
    ...embeddingTraining,
    maxBatchSize: z.int().positive('must be at least 1 text').optional(),
    device: backend.optional(),
  },
  kinds: () => ['embedding'],
  memory: proportional(250e6, 1.4),
};
