import { z } from '../../util/full-zod.ts';
import type { VariantBase } from '../variant.ts';
import type { EngineRules } from './engine-rules.ts';

/** Chat by the model that the browser has itself (the Prompt API, `LanguageModel`). It has no files: docs/built-in.md. */
export interface BuiltInVariant extends VariantBase {
  engine: 'built-in';
  /** Languages of prompts and replies, as BCP 47 tags: the browser says beforehand whether it has them. Default: not named. */
  languages?: string[];
}

export const builtIn: EngineRules<BuiltInVariant> = {
  fields: {
    languages: z
      .array(z.string().regex(/^[\w-]{2,35}$/, 'must be a language tag'))
      .max(20)
      .optional(),
  },
  kinds: () => ['chat'],
};
