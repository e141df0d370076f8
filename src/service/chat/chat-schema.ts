import * as z from '#base/zod';
import {
  atLeastOne,
  callText,
  choicesField,
  flag,
  foreignSchemas,
  MAX_ITEMS,
  metadata,
  nestedFormat,
  reasoningEffort,
  refusalPart,
  samplingFields,
  stopField,
  streamFields,
  text,
  textOrParts,
  topLogprobs,
  typesError,
} from '../body/fields.ts';
import { refusedConstraints, refusedSlips } from '../body/refused-fields.ts';
import { MAX_IMAGE_BODY_BYTES } from '../body/request-body.ts';
import { MAX_TOOLS } from '../tools/tool-function.ts';
import { chatToolChoice, chatTools, legacyFunctionCall, legacyFunctions } from '../tools/tool-schema.ts';

/** Schema of a chat request. Unknown fields are ignored: newer SDKs send some. */

const textPart = z.object({ type: z.literal('text'), text: z.string() });
const imagePart = z.object({
  type: z.literal('image_url'),
  image_url: z.object({ url: z.string(), detail: text }),
});

const anyPart = z.discriminatedUnion('type', [textPart, imagePart], typesError('"text", "image_url"'));
const textParts = textOrParts(anyPart);
/**
 * Content that may be empty: clients send no parts for a function without a result, or for a message that
 * only has calls.
 */
const resultParts = textOrParts(anyPart, 0);
const assistantParts = textOrParts(z.discriminatedUnion('type', [textPart, refusalPart]), 0);

const called = z.object({ name: callText, arguments: z.string() });
const toolCall = z.discriminatedUnion('type', [
  z.object({ id: callText, type: z.literal('function'), function: called, namespace: text }),
  z.object({
    id: callText,
    type: z.literal('custom'),
    custom: z.object({ name: callText, input: z.string() }),
    namespace: text,
  }),
]);

const message = z.discriminatedUnion('role', [
  z.object({ role: z.enum(['system', 'developer', 'user']), content: textParts, name: text }),
  z.object({
    role: z.literal('assistant'),
    content: z.nullish(assistantParts),
    refusal: text,
    name: text,
    tool_calls: z.nullish(z.array(toolCall).check(z.maxLength(MAX_TOOLS))),
    function_call: z.nullish(called),
  }),
  z.object({ role: z.literal('tool'), content: resultParts, tool_call_id: z.string() }),
  z.object({ role: z.literal('function'), content: z.nullish(z.string()), name: z.string() }),
]);

/** Fields that the service itself enforces. */
const enforced = {
  model: z.string(),
  messages: z.array(message).check(z.minLength(1), z.maxLength(MAX_ITEMS)),
  n: choicesField,
  max_tokens: atLeastOne,
  max_completion_tokens: atLeastOne,
  stop: stopField,
  ...streamFields,
  response_format: nestedFormat,
  functions: legacyFunctions,
  function_call: legacyFunctionCall,
  tools: chatTools,
  tool_choice: chatToolChoice,
  parallel_tool_calls: flag,
  ...foreignSchemas,
  modalities: z.nullish(z.array(z.enum(['text', 'audio'])).check(z.maxLength(2))),
  continue_final_message: flag,
};

const passedOn = {
  ...samplingFields,
  logprobs: flag,
  top_logprobs: topLogprobs,
  reasoning_effort: reasoningEffort,
  chat_template_kwargs: z.nullish(z.object({ enable_thinking: flag })),
};

const ignored = { user: text, metadata, store: flag, service_tier: text };

const TOKENS = 'Use `max_completion_tokens`.';
const SYSTEM = 'Use a message with the role `system`.';
const EARLIER = 'Send the whole conversation in `messages`, or use /v1/responses.';

export const chatRules = {
  fields: { enforced, passedOn, ignored },
  maxBytes: MAX_IMAGE_BODY_BYTES,
  schema: z.object({ ...enforced, ...passedOn, ...ignored }),
  refused: {
    ...refusedConstraints('Use `response_format`.'),
    ...refusedSlips(TOKENS, SYSTEM),
    input: 'Use `messages`.',
    instructions: SYSTEM,
    max_output_tokens: TOKENS,
    conversation: EARLIER,
    previous_response_id: EARLIER,
    prompt: 'Use `messages`, or /v1/completions.',
    reasoning: 'Use `reasoning_effort`.',
    text: 'Use `response_format`.',
    audio: 'The models write text alone. Leave it out.',
    web_search_options: 'The models run on this device and search nothing. Leave it out.',
  },
};

/** Body without the ignored fields. */
export type ChatBody = z.infer<z.ZodMiniObject<typeof enforced & typeof passedOn>>;
export type MessageBody = z.infer<typeof message>;
