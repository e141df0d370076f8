import { llamaCpp as rules, type WllamaVariant } from '../../../catalog/engines/llama-cpp.ts';
import type { EnginePlugin } from '../engine.ts';

export const llamaCpp: EnginePlugin<WllamaVariant> = {
  ...rules,
  capabilities: ({ completionsOnly = false }, chats = !completionsOnly) =>
    chats ? ['chat', 'decisions', 'tools', 'json_schema', 'logprobs'] : ['completions', 'decisions', 'logprobs'],
  load: async (variant, context) => (await import('./load-wllama.ts')).loadWllama(variant, context),
};
