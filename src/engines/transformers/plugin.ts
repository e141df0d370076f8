import { rules, type TransformersVariant } from './rules.ts';
import { unmetSharedMemory, type EnginePlugin } from '#engine-kit';

export const plugin: EnginePlugin<TransformersVariant> = {
  ...rules,
  capabilities: () => ['embeddings', 'rerank', 'decisions'],
  onBackend: (variant, backend) => (variant.backend ? undefined : { ...variant, backend }),
  wasm: 'ort-wasm-simd-threaded.wasm',
  unmet: unmetSharedMemory,
  load: async (variant, context) =>
    (await import('./load-transformers.ts')).loadTransformers(variant, context),
};
