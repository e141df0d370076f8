import type OpenAI from 'openai';
import * as z from '#base/zod';
import {
  atLeastOne,
  callText,
  customCallItem,
  flag,
  flatFormat,
  functionCallItem,
  MAX_ITEMS,
  messageItem,
  metadata,
  reasoningEffort,
  refusalPart,
  samplingFields,
  stopField,
  text,
  textOrParts,
  topLogprobs,
  typesError,
} from '../body/fields.ts';
import { refusedConstraints, refusedSchemas, refusedSlips } from '../body/refused-fields.ts';
import { MAX_IMAGE_BODY_BYTES } from '../body/request-body.ts';
import { inputTools, responseToolChoice, responseTools } from '../tools/tool-schema.ts';

/** Schema of a request to /v1/responses. Unknown fields are ignored. */

/** OpenAI's values. All but the last concern tools and states that no reply has here. */
const INCLUDES = [
  'file_search_call.results',
  'web_search_call.results',
  'web_search_call.action.sources',
  'message.input_image.image_url',
  'computer_call_output.output.image_url',
  'code_interpreter_call.outputs',
  'reasoning.encrypted_content',
  'message.output_text.logprobs',
] as const satisfies OpenAI.Responses.ResponseIncludable[];
const MAX_INCLUDE = 16;

const textPart = z.object({ type: z.enum(['input_text', 'output_text']), text: z.string() });
const imagePart = z.object({
  type: z.literal('input_image'),
  // Precedes `image_url`, which is absent in parts with a `file_id`: only the first fault is reported.
  file_id: z.nullish(
    z.unknown().check(z.refine(() => false, 'must be absent: use `image_url`, with a `data:` URL')),
  ),
  image_url: z.string(),
  detail: text,
});

const part = z.discriminatedUnion(
  'type',
  [textPart, refusalPart, imagePart],
  typesError('"input_text", "input_image", "output_text", "refusal"'),
);
const message = messageItem(textOrParts(part, 0));

/** Result of a call. Clients send no parts if it returns nothing. */
const output = textOrParts(part, 0);
const resultItem = z.object({
  type: z.enum(['function_call_output', 'custom_tool_call_output']),
  call_id: z.nullish(callText),
  name: text,
  namespace: text,
  output,
});
const callItem = z.extend(functionCallItem, { namespace: text });
const customItem = z.extend(customCallItem, { namespace: text });

/** Tools that the client's search found, or that it adds later. The search itself has no effect. */
const toolsItem = z.object({ type: z.enum(['additional_tools', 'tool_search_output']), tools: inputTools });
const toolSearchItem = z.object({ type: z.literal('tool_search_call') });

/** Reasoning that a client sends back. It is ignored: templates omit the reasoning of earlier turns. */
const reasoningItem = z.object({ type: z.literal('reasoning') });

const items = [message, callItem, resultItem, customItem, reasoningItem, toolsItem, toolSearchItem] as const;
export const inputItem = z.discriminatedUnion('type', items);
export type InputItem = z.infer<typeof inputItem>;

/** Reference to an item of a stored response. */
const referenceItem = z.object({ type: z.literal('item_reference'), id: z.string().check(z.minLength(1)) });

/** Adds the type that OpenAI lets messages and references omit. */
const withType = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null || ('type' in value && value.type != null)) return value;
  if ('role' in value) return { ...value, type: 'message' };
  return 'id' in value ? { ...value, type: 'item_reference' } : value;
};

const item = z.pipe(z.transform(withType), z.discriminatedUnion('type', [...items, referenceItem]));

const enforced = {
  model: z.string(),
  input: z.nullish(
    z.union(
      [z.string(), z.array(item).check(z.maxLength(MAX_ITEMS))],
      'must be a string or an array of items',
    ),
  ),
  instructions: text,
  previous_response_id: text,
  store: flag,
  stream: flag,
  max_output_tokens: atLeastOne,
  n: z.nullish(z.literal(1)),
  stop: stopField,
  text: z.nullish(z.object({ format: flatFormat, verbosity: z.nullish(z.enum(['low', 'medium', 'high'])) })),
  tools: responseTools,
  tool_choice: responseToolChoice,
  parallel_tool_calls: flag,
  metadata,
  include: z.nullish(z.array(z.enum(INCLUDES)).check(z.maxLength(MAX_INCLUDE))),
};

const passedOn = {
  ...samplingFields,
  /** Applies to models on this device. Servers have their own rules. */
  truncation: z.nullish(z.enum(['auto', 'disabled'])),
  top_logprobs: topLogprobs,
  reasoning: z.nullish(
    z.object({ effort: reasoningEffort, summary: z.nullish(z.enum(['auto', 'concise', 'detailed'])) }),
  ),
};

const ignored = {
  user: text,
  service_tier: text,
  safety_identifier: text,
  prompt_cache_key: text,
  max_tool_calls: atLeastOne,
  stream_options: z.nullish(z.object({ include_obfuscation: flag })),
};

const FORMAT = 'Use `text.format`.';
const TOKENS = 'Use `max_output_tokens`.';

export const responseRules = {
  fields: { enforced, passedOn, ignored },
  maxBytes: MAX_IMAGE_BODY_BYTES,
  schema: z.object({ ...enforced, ...passedOn, ...ignored }),
  refused: {
    ...refusedConstraints(FORMAT),
    ...refusedSchemas(FORMAT),
    logprobs: 'Use `include` with "message.output_text.logprobs".',
    ...refusedSlips(TOKENS, 'Use `instructions`.'),
    max_completion_tokens: TOKENS,
    max_tokens: TOKENS,
    functions: 'Use `tools`.',
    function_call: 'Use `tool_choice`.',
    messages: 'Use `input`.',
    reasoning_effort: 'Use `reasoning.effort`.',
    response_format: FORMAT,
    background: 'Background responses are not supported. Omit `background`.',
    conversation: 'Go on from an earlier response with `previous_response_id` instead.',
    prompt: 'There are no stored prompts. Give `instructions` and `input`.',
  },
};

export type ResponseBody = z.infer<z.ZodMiniObject<typeof enforced & typeof passedOn & typeof ignored>>;
