import { rules, type WebLlmVariant } from './rules.ts';
import type { EnginePlugin } from '#engine-kit';

export const plugin: EnginePlugin<WebLlmVariant> = {
  ...rules,
  capabilities: () => ['chat', 'tools', 'json_schema', 'logprobs'],
  load: async (variant, context) => (await import('./load-web-llm.ts')).loadWebLlm(variant, context),
};
