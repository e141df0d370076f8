import * as z from '../../util/zod.ts';
import { choicesField, flag, samplingFields, stopField, streamFields, text } from '../body/fields.ts';
import { refusedConstraints, refusedSchemas } from '../body/refused-fields.ts';

/** What a completion without a conversation may be: the older endpoint. */

const MAX_PROMPTS = 128;

export const completionEnforced = {
  model: z.string(),
  prompt: z.union(
    [z.string(), z.array(z.string()).check(z.minLength(1), z.maxLength(MAX_PROMPTS))],
    `must be a string, or an array of 1 to ${MAX_PROMPTS} of them: token ids cannot be used here`,
  ),
  n: choicesField,
  best_of: choicesField,
  echo: flag,
  max_tokens: z.nullish(z.int().check(z.gte(0))),
  stop: stopField,
  ...streamFields,
};

export const completionPassedOn = {
  ...samplingFields,
  logprobs: z.nullish(z.int().check(z.gte(0), z.lte(5))),
};

export const completionAccepted = { user: text };

const CHAT = 'Use /v1/chat/completions.';

export const completionRules = {
  schema: z.object({ ...completionEnforced, ...completionPassedOn, ...completionAccepted }),
  refused: {
    ...refusedConstraints(CHAT),
    ...refusedSchemas(CHAT),
    input: 'Use `prompt`.',
    instructions: CHAT,
    max_completion_tokens: 'Use `max_tokens`.',
    max_output_tokens: 'Use `max_tokens`.',
    messages: CHAT,
    response_format: CHAT,
    tools: CHAT,
    suffix: 'The models write on from the prompt, and fill nothing in. Leave it out.',
  },
};

export type CompletionBody = z.infer<z.ZodMiniObject<typeof completionEnforced & typeof completionPassedOn>>;
