import * as z from '../../util/zod.ts';
import { invalidField } from '../../errors/service-error.ts';
import { choicesField, flag, samplingFields, stopField, streamFields, text } from '../body/fields.ts';
import { refusedConstraints, refusedSchemas, refusedSlips } from '../body/refused-fields.ts';

/** Schema of a completion without a conversation: the older endpoint. */

const MAX_PROMPTS = 128;
/** Maximum tokens of a prompt: more than any context holds. */
const MAX_TOKENS = 50_000;
/** Largest token id of llama.cpp, which has 32 bits for them. */
const MAX_ID = 2 ** 31 - 1;

const tokens = z.array(z.int().check(z.gte(0), z.lte(MAX_ID))).check(z.minLength(1), z.maxLength(MAX_TOKENS));
const several = <Prompt extends z.ZodMiniType>(prompt: Prompt) =>
  z.array(prompt).check(z.minLength(1), z.maxLength(MAX_PROMPTS));

const enforced = {
  model: z.string(),
  /** OpenAI's default is the end of a text; an empty prompt means the same. */
  prompt: z.union(
    [z.null(), z.string(), several(z.string()), tokens, several(tokens)],
    `must be a string, or an array of 1 to ${MAX_PROMPTS} of them, or token ids as an array, or an array of such arrays`,
  ),
  n: choicesField,
  best_of: choicesField,
  echo: flag,
  max_tokens: z.nullish(z.int().check(z.gte(0))),
  stop: stopField,
  ...streamFields,
};

const passedOn = {
  ...samplingFields,
  logprobs: z.nullish(z.int().check(z.gte(0), z.lte(5))),
};

const accepted = { user: text };

const CHAT = 'Use /v1/chat/completions.';
const TOKENS = 'Use `max_tokens`.';

/** Runs before the schema, which would report a fault of another alternative of the union. */
function refuseTooMany({ prompt }: Record<string, unknown>): void {
  if (!Array.isArray(prompt) || typeof prompt[0] === 'number' || prompt.length <= MAX_PROMPTS) return;
  throw invalidField('prompt', `must have at most ${MAX_PROMPTS} elements, but has ${prompt.length}`);
}

export const completionRules = {
  fields: { enforced, passedOn, accepted },
  precheck: refuseTooMany,
  schema: z.object({ ...enforced, ...passedOn, ...accepted }),
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
