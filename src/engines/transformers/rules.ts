import { z } from '#base/full-zod';
import {
  backend,
  type EmbeddingTraining,
  embeddingTraining,
  type EngineRules,
  pooling,
  proportional,
  type VariantBase,
  vectorLength,
} from '#catalog/rules';

/** Embeddings in transformers.js on onnxruntime-web. */
export interface TransformersVariant extends VariantBase, EmbeddingTraining {
  engine: 'transformers';
  /** Backend. Default: WASM, or the GPU once a benchmark has shown that it is faster and correct. */
  backend?: 'wasm' | 'webgpu';
  /** Length of a vector. */
  dimensions: number;
  pooling: 'mean' | 'cls' | 'last_token';
  /**
   * Maximum number of texts per batch. Default: chosen for speed. Must be 1 for a graph that quantizes by its whole
   * input, or a text's vector would depend on the others in its batch.
   */
  maxBatchSize?: number;
  /** Whether the graph is as fast as it can be as it stands: onnxruntime then loads it in less time. */
  optimizedGraph?: boolean;
}

export const rules: EngineRules<TransformersVariant> = {
  engine: 'transformers',
  fields: {
    dimensions: vectorLength,
    pooling,
    ...embeddingTraining,
    maxBatchSize: z.int().positive('must be at least 1 text').optional(),
    optimizedGraph: z.boolean().optional(),
    backend: backend.optional(),
  },
  kinds: () => ['embedding'],
  memory: proportional(250e6, 1.4),
};
