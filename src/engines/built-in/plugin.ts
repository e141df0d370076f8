import { rules, type BuiltInVariant } from './rules.ts';
import type { EnginePlugin } from '#engine-kit';
import { builtInFault } from './built-in-fault.ts';

export const plugin: EnginePlugin<BuiltInVariant> = {
  ...rules,
  capabilities: () => ['chat', 'tools', 'json_schema'],
  unmet: (variant, page) => builtInFault(page.pageModel, variant),
  load: async (variant, context) => (await import('./built-in-engine.ts')).loadBuiltIn(variant, context),
};
