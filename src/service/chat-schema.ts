import * as z from 'zod/mini';
import { chatToolChoice, chatTools } from './tools/tool-schema.ts';

/** What a chat request may be. Fields not named here are ignored: newer SDKs send some. */

const textPart = z.object({ type: z.literal('text'), text: z.string() });
const refusalPart = z.object({ type: z.literal('refusal'), refusal: z.string() });
/** Known to OpenAI, not to a text model: refused by name once the shape has been found right. */
const otherPart = z.object({ type: z.enum(['image_url', 'input_audio', 'file']) });

const parts = <Part extends z.ZodMiniType>(part: Part) =>
  z.union([z.string(), z.array(part).check(z.minLength(1))], 'must be a string or an array of text parts');

const part = (types: string) => `must be one of ${types}`;
const textParts = parts(
  z.discriminatedUnion('type', [textPart, otherPart], part('"text", or a part that the model can read')),
);
const assistantParts = parts(
  z.discriminatedUnion('type', [textPart, refusalPart], part('"text", "refusal"')),
);

const name = z.nullish(z.string());

const toolCall = z.object({
  id: z.string().check(z.minLength(1)),
  type: z.literal('function'),
  function: z.object({ name: z.string().check(z.minLength(1)), arguments: z.string() }),
});

const message = z.discriminatedUnion(
  'role',
  [
    z.object({ role: z.enum(['system', 'developer', 'user']), content: textParts, name }),
    z.object({
      role: z.literal('assistant'),
      content: z.nullish(assistantParts),
      name,
      tool_calls: z.nullish(z.array(toolCall)),
    }),
    z.object({ role: z.literal('tool'), content: textParts, tool_call_id: z.string() }),
  ],
  'must be one of "system", "developer", "user", "assistant", "tool"',
);

const jsonSchemaFormat = z.object({
  name: z
    .string()
    .check(z.regex(/^[a-zA-Z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, underscores and hyphens')),
  description: z.nullish(z.string()),
  schema: z.nullish(z.record(z.string(), z.unknown())),
  strict: z.nullish(z.boolean()),
});

const responseFormat = z.discriminatedUnion(
  'type',
  [
    z.object({ type: z.literal('text') }),
    z.object({ type: z.literal('json_object') }),
    z.object({ type: z.literal('json_schema'), json_schema: jsonSchemaFormat }),
  ],
  'must be one of "text", "json_object", "json_schema"',
);

const between = (low: number, high: number) => z.nullish(z.number().check(z.gte(low), z.lte(high)));
const atLeastOne = z.nullish(z.int().check(z.gte(1)));
const stopSequence = z.string().check(z.minLength(1));

/** Most choices of one request. */
const MAX_CHOICES = 128;
const MAX_STOP_SEQUENCES = 4;

export const chatSchema = z.object({
  model: z.string(),
  messages: z.array(message).check(z.minLength(1)),
  temperature: between(0, 2),
  top_p: between(0, 1),
  max_tokens: atLeastOne,
  max_completion_tokens: atLeastOne,
  stream: z.nullish(z.boolean()),
  stream_options: z.nullish(z.object({ include_usage: z.nullish(z.boolean()) })),
  stop: z.nullish(
    z.union([stopSequence, z.array(stopSequence).check(z.maxLength(MAX_STOP_SEQUENCES))], {
      error: `must be a string, not empty, or an array of at most ${MAX_STOP_SEQUENCES} of them`,
    }),
  ),
  n: z.nullish(z.int().check(z.gte(1), z.lte(MAX_CHOICES))),
  seed: z.nullish(z.int()),
  presence_penalty: between(-2, 2),
  frequency_penalty: between(-2, 2),
  logit_bias: z.nullish(
    z.record(
      z.string().check(z.regex(/^\d{1,9}$/)),
      z.number().check(z.gte(-100), z.lte(100)),
      'must map token ids to numbers from -100 to 100',
    ),
  ),
  logprobs: z.nullish(z.boolean()),
  top_logprobs: z.nullish(z.int().check(z.gte(0), z.lte(20))),
  response_format: z.nullish(responseFormat),
  tools: chatTools,
  tool_choice: chatToolChoice,
  parallel_tool_calls: z.nullish(z.boolean()),
  modalities: z.nullish(z.array(z.enum(['text', 'audio']))),
  // Accepted, without effect on the reply.
  user: z.nullish(z.string()),
  metadata: z.nullish(z.record(z.string(), z.string())),
  store: z.nullish(z.boolean()),
  service_tier: z.nullish(z.string()),
});

export type ChatBody = z.infer<typeof chatSchema>;
export type MessageBody = z.infer<typeof message>;
