import { webLlm as rules, type WebLlmVariant } from '../../catalog/engines/web-llm.ts';
import type { EnginePlugin } from '../engine.ts';

export const webLlm: EnginePlugin<WebLlmVariant> = {
  ...rules,
  capabilities: () => ['chat', 'tools', 'json_schema', 'logprobs'],
  needsGpu: true,
  load: async (variant, context) => (await import('./load-web-llm.ts')).loadWebLlm(variant, context),
};
