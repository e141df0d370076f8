import { webLlmRules as rules, type WebLlmVariant } from '#catalog';
import type { EnginePlugin } from '#engine-kit';

export const webLlm: EnginePlugin<WebLlmVariant> = {
  ...rules,
  capabilities: () => ['chat', 'tools', 'json_schema', 'logprobs'],
  load: async (variant, context) => (await import('./load-web-llm.ts')).loadWebLlm(variant, context),
};
