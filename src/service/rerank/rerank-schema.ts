import * as z from '#base/zod';
import { flag, text } from '../body/fields.ts';

const MAX_DOCUMENTS = 1000;

const shown = z.string().check(z.minLength(1));

const enforced = {
  model: z.string(),
  query: shown,
  documents: z
    .array(z.union([shown, z.object({ text: shown })], 'must be a text, not empty, or an object with `text`'))
    .check(z.minLength(1), z.maxLength(MAX_DOCUMENTS)),
  top_n: z.nullish(z.int().check(z.gte(1))),
  return_documents: flag,
  max_tokens_per_doc: z.nullish(z.int().check(z.gte(1))),
};

const ignored = { user: text, priority: z.nullish(z.int()) };

const ONLY_TEXT = 'Documents are compared by their `text`. Put the fields into it.';

export const rerankRules = {
  fields: { enforced, ignored },
  refused: { rank_fields: ONLY_TEXT },
  schema: z.object({ ...enforced, ...ignored }),
};

export type RerankBody = z.infer<typeof rerankRules.schema>;
