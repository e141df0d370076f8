import * as z from '#base/zod';
import { invalidField, unsupported } from '#base';
import {
  choicesField,
  flag,
  integer,
  samplingFields,
  stopField,
  streamFields,
  text,
} from '../body/fields.ts';
import { refusedConstraints, refusedSchemas, refusedSlips } from '../body/refused-fields.ts';

/** Schema of a completion without a conversation: the older endpoint. */

const MAX_PROMPTS = 128;

const enforced = {
  model: z.string(),
  /** OpenAI's default is the end of a text; an empty prompt means the same. */
  prompt: z.union(
    [z.null(), z.string(), z.array(z.string()).check(z.minLength(1), z.maxLength(MAX_PROMPTS))],
    `must be a string, or an array of 1 to ${MAX_PROMPTS} of them`,
  ),
  n: choicesField,
  /** 1 means the same as nothing: some clients always send it. */
  best_of: z.nullish(z.literal(1, 'must be absent, or 1: use `n`, and choose by `logprobs`')),
  echo: flag,
  max_tokens: z.nullish(z.int().check(z.gte(0))),
  stop: stopField,
  ...streamFields,
};

const passedOn = { ...samplingFields, logprobs: integer(0, 5) };

const ignored = { user: text };

const CHAT = 'Use /v1/chat/completions.';
const TOKENS = 'Use `max_tokens`.';

/** Runs before the schema, which would report a fault of another alternative of the union. */
function refusePrompts({ prompt }: Record<string, unknown>): void {
  if (!Array.isArray(prompt)) return;
  if (typeof [prompt[0]].flat()[0] === 'number')
    throw unsupported(
      'prompt',
      'must be text: token ids are not supported. Send the text that they stand for',
    );
  if (prompt.length <= MAX_PROMPTS) return;
  throw invalidField('prompt', `must have at most ${MAX_PROMPTS} elements, but has ${prompt.length}`);
}

export const completionRules = {
  fields: { enforced, passedOn, ignored },
  precheck: refusePrompts,
  schema: z.object({ ...enforced, ...passedOn, ...ignored }),
  refused: {
    ...refusedConstraints(CHAT),
    ...refusedSchemas(CHAT),
    input: 'Use `prompt`.',
    ...refusedSlips(TOKENS, CHAT),
    instructions: CHAT,
    max_completion_tokens: TOKENS,
    max_output_tokens: TOKENS,
    messages: CHAT,
    response_format: CHAT,
    tools: CHAT,
    functions: CHAT,
    suffix: 'Insertion is not supported. Omit `suffix`.',
  },
};

export type CompletionBody = z.infer<z.ZodMiniObject<typeof enforced & typeof passedOn>>;
