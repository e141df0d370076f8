import { rules, type WllamaVariant } from './rules.ts';
import { unmetSharedMemory, type EnginePlugin } from '#engine-kit';

export const plugin: EnginePlugin<WllamaVariant> = {
  ...rules,
  capabilities: ({ dimensions, pooling, completionsOnly = false }, chats = !completionsOnly) => {
    if (pooling === 'rank') return ['rerank'];
    if (dimensions !== undefined) return ['embeddings', 'rerank', 'decisions'];
    return chats
      ? ['chat', 'decisions', 'tools', 'json_schema', 'logprobs']
      : ['completions', 'decisions', 'logprobs'];
  },
  wasm: 'wllama.wasm',
  added: async () => (await import('./gguf-format.ts')).ggufFormat,
  unmet: unmetSharedMemory,
  load: async (variant, context) => (await import('./load-wllama.ts')).loadWllama(variant, context),
};
