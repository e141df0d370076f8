import * as z from '#base/zod';
import {
  callText,
  customCallItem,
  functionCallItem,
  MAX_ITEMS,
  messageItem,
  refusalPart,
  text,
  textOrParts,
} from '../body/fields.ts';
import { MAX_IMAGE_BODY_BYTES } from '../body/request-body.ts';

/** Schema of a request to /v1/decisions. Unknown fields are ignored. */

/** OpenAI's own limits. */
const MAX_QUESTIONS = 400;
const MAX_CHOICES = 255;
const MAX_LEVELS = 10;
const MAX_LABEL_CHARACTERS = 256;

const textPart = z.object({ type: z.literal('input_text'), text: z.string() });
const imagePart = z.object({ type: z.literal('input_image'), image_url: z.string(), detail: text });
/** Any object or array: the bounds of the body apply to it. */
const data = z.custom<object>(
  (value) => typeof value === 'object' && value !== null,
  'must be an object or an array',
);
const jsonPart = z.object({ type: z.literal('input_json'), data });
const outputPart = z.object({ type: z.literal('output_text'), text: z.string() });

const content = textOrParts(
  z.discriminatedUnion('type', [textPart, imagePart, jsonPart, outputPart, refusalPart]),
);

const message = messageItem(content);
const callOutput = z.object({
  type: z.enum(['function_call_output', 'custom_tool_call_output']),
  call_id: callText,
  output: content,
});

const item = z.discriminatedUnion('type', [message, functionCallItem, customCallItem, callOutput]);

const instructions = textOrParts(z.discriminatedUnion('type', [textPart, imagePart, jsonPart]));
const label = z.string().check(z.minLength(1), z.maxLength(MAX_LABEL_CHARACTERS));
/** Name of a question. A server repeats it in its answer, whose size is bounded. */
const questionName = z.nullish(z.string().check(z.maxLength(MAX_LABEL_CHARACTERS)));
const questionFields = { instructions, name: questionName };

const question = z.discriminatedUnion('type', [
  z.object({ type: z.literal('predicate'), ...questionFields }),
  z.object({
    type: z.literal('choice'),
    ...questionFields,
    choices: z
      .array(
        z.object({
          value: z.union([label, z.boolean()], 'must be a string of 1 to 256 characters, or a boolean'),
          description: text,
        }),
      )
      .check(z.minLength(2), z.maxLength(MAX_CHOICES)),
  }),
  z.object({
    type: z.literal('score'),
    ...questionFields,
    levels: z.array(z.object({ label, description: text })).check(z.minLength(2), z.maxLength(MAX_LEVELS)),
  }),
]);

const enforced = {
  model: z.string(),
  input: z.union(
    [z.string().check(z.minLength(1)), z.array(item).check(z.minLength(1), z.maxLength(MAX_ITEMS))],
    'must be a string, not empty, or an array of items',
  ),
  questions: z.array(question).check(z.minLength(1), z.maxLength(MAX_QUESTIONS)),
};

const ignored = {
  prompt_cache_key: text,
  prompt_cache_options: z.nullish(z.object({})),
  safety_identifier: text,
};

export const decisionRules = {
  fields: { enforced, ignored },
  maxBytes: MAX_IMAGE_BODY_BYTES,
  schema: z.object({ ...enforced, ...ignored }),
};

export type DecisionBody = z.infer<z.ZodMiniObject<typeof enforced>>;
export type QuestionBody = DecisionBody['questions'][number];
export type ItemBody = Exclude<DecisionBody['input'], string>[number];
