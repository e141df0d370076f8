import { llamaCpp as rules, type WllamaVariant } from '../../catalog/engines/llama-cpp.ts';
import type { EnginePlugin } from '../engine.ts';

export const llamaCpp: EnginePlugin<WllamaVariant> = {
  ...rules,
  capabilities: ({ dimensions, completionsOnly = false }, chats = !completionsOnly) => {
    if (dimensions !== undefined) return ['embeddings', 'decisions'];
    return chats
      ? ['chat', 'decisions', 'tools', 'json_schema', 'logprobs']
      : ['completions', 'decisions', 'logprobs'];
  },
  wasm: 'wllama.wasm',
  added: async () => (await import('./gguf-format.ts')).ggufFormat,
  helpers: {
    template: async () => (await import('../prompt/chat-prompt.ts')).templateWorker,
    image: async () => (await import('../images/image-worker.ts')).imageWorker,
  },
  load: async (variant, context) => (await import('./load-wllama.ts')).loadWllama(variant, context),
};
