import { z } from '#base/full-zod';
import type { EngineRules, VariantBase } from '#catalog/rules';

/** Chat with the browser's own model (Prompt API, `LanguageModel`), which has no files (docs/capabilities.md). */
export interface BuiltInVariant extends VariantBase {
  engine: 'built-in';
  /** Languages of prompts and replies as BCP 47 tags, for which the browser checks its support. Default: unspecified. */
  languages?: string[];
}

export const rules: EngineRules<BuiltInVariant> = {
  engine: 'built-in',
  fields: {
    languages: z
      .array(z.string().regex(/^[\w-]{2,35}$/, 'must be a language tag'))
      .max(20)
      .optional(),
  },
  kinds: () => ['chat'],
};
