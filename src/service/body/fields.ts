import { isObject } from '#base';
import { SAMPLING, type SamplingName } from '#jobs';
import * as z from '#base/zod';
import { MAX_CHOICES } from './request-body.ts';
import { WITH_RULES } from './schema-issues.ts';

/** Fields that several endpoints share. */

export const atLeastOne = z.nullish(z.int().check(z.gte(1)));
export const flag = z.nullish(z.boolean());
export const text = z.nullish(z.string());

/** Maximum parts of a message, and messages or items of a request: more than any context holds. */
const MAX_PARTS = 1024;
export const MAX_ITEMS = 8192;

/** Error for a part of another type. The types listed are those that the models here take. */
export const typesError = (types: string) => ({
  error: ({ code }: { code?: string | undefined }) =>
    code === 'invalid_union' ? `must be one of ${types}` : undefined,
});

/** @param least minimum number of parts */
export const textOrParts = <Part extends z.ZodMiniType>(part: Part, least = 1) =>
  z.union(
    [z.string(), z.array(part).check(z.minLength(least), z.maxLength(MAX_PARTS))],
    'must be a string or an array of text parts',
  );

const MAX_STOP_SEQUENCES = 32;
const MAX_STOP_CHARACTERS = 1024;
const stopSequence = z.string().check(z.minLength(1), z.maxLength(MAX_STOP_CHARACTERS));

/** An integer in a range, which is checked first: `z.int()` names that of all integers. */
export const integer = (low: number, high: number) =>
  z.nullish(z.number().check(z.gte(low), z.lte(high), z.int()));

export const choicesField = integer(1, MAX_CHOICES);
export const topLogprobs = integer(0, 20);

export const stopField = z.nullish(
  z.union([stopSequence, z.array(stopSequence).check(z.maxLength(MAX_STOP_SEQUENCES))], {
    error: `must be a string of 1 to ${MAX_STOP_CHARACTERS} characters, or an array of at most ${MAX_STOP_SEQUENCES} of them`,
  }),
);

export const streamFields = { stream: flag, stream_options: z.nullish(z.object({ include_usage: flag })) };

/** OpenAI's own limits. */
export const metadata = z.nullish(
  recordOf(/^.{0,64}$/s, z.string().check(z.maxLength(512)), 16, 'must have keys of at most 64 characters'),
);

/** Maximum entries of `logit_bias`: engines apply all of them at every token. */
const MAX_BIASES = 1024;

type NumberName = Extract<(typeof SAMPLING)[keyof typeof SAMPLING], { range: unknown }>['name'];

const between = ([low, high]: readonly [low: number, high: number]) =>
  z.nullish(z.number().check(z.gte(low), z.lte(high)));

const numberFields = Object.fromEntries(
  Object.values(SAMPLING).flatMap((each) => ('range' in each ? [[each.name, between(each.range)]] : [])),
) as Record<NumberName, ReturnType<typeof between>>;

/** Seed. Numbers above 2^53 lose their last digits, which does not matter here. */
const seed = z
  .number()
  .check(
    z.refine(
      (value) => Number.isInteger(value) && Math.abs(value) <= 2 ** 64,
      'must be an integer of at most 64 bits',
    ),
  );

/** Id or name of a call in a conversation. The length is bounded because ids and names are kept in sets. */
export const callText = z.string().check(z.minLength(1), z.maxLength(256));

export const refusalPart = z.object({ type: z.literal('refusal'), refusal: z.string() });

/** A message in the input of responses and decisions. */
export const messageItem = <Content extends z.ZodMiniType>(content: Content) =>
  z.object({
    type: z.optional(z.literal('message')),
    role: z.enum(['system', 'developer', 'user', 'assistant']),
    content,
  });

const call = { call_id: callText, name: callText };
/** Calls in the input of responses and decisions. */
export const functionCallItem = z.object({
  type: z.literal('function_call'),
  ...call,
  arguments: z.string(),
});
export const customCallItem = z.object({ type: z.literal('custom_tool_call'), ...call, input: z.string() });

/** Sampling fields, which are passed on to the engine. */
export const samplingFields = {
  ...numberFields,
  seed: z.nullish(seed),
  logit_bias: z.nullish(
    recordOf(
      /^\d{1,9}$/,
      z.number().check(z.gte(-100), z.lte(100)),
      MAX_BIASES,
      'must have token ids as keys: decimal numbers without a sign',
    ),
  ),
} satisfies Record<SamplingName, z.ZodMiniType>;

export const reasoningEffort = z.nullish(
  z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']),
);

/** JSON Schema as the body has it. `checkJsonSchema` bounds its contents. */
const jsonSchema = recordOf(/^/, z.unknown(), 100);

const schemaFormatFields = {
  name: z
    .string()
    .check(z.regex(/^[a-zA-Z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, underscores and hyphens')),
  description: text,
  schema: z.nullish(jsonSchema),
  strict: flag,
};

/**
 * Format `json_object`, with the fields in which other servers take a schema: `schema` (llama.cpp), `value`
 * (TGI).
 */
const jsonObject = z.object({
  type: z.literal('json_object'),
  schema: schemaFormatFields.schema,
  value: schemaFormatFields.schema,
});

const toFormat = <Schema extends z.ZodMiniObject<{ type: z.ZodMiniLiteral<'json_schema'> }>>(
  withSchema: Schema,
) => z.nullish(z.discriminatedUnion('type', [z.object({ type: z.literal('text') }), jsonObject, withSchema]));

const isJsonSchema = z.literal('json_schema');
/** Response format of chat completions. */
export const nestedFormat = toFormat(
  z.object({ type: isJsonSchema, json_schema: z.object(schemaFormatFields) }),
);
/** Response format of responses. */
export const flatFormat = toFormat(
  z.object({ type: isJsonSchema, ...schemaFormatFields, schema: jsonSchema }),
);

const unset = z.union([z.null(), z.literal(false)], 'must be absent: only `json` can be used');

/** The schema of a reply under the names of vLLM, llama.cpp's server and SGLang. */
export const foreignSchemas = {
  guided_json: schemaFormatFields.schema,
  json_schema: schemaFormatFields.schema,
  structured_outputs: z.nullish(z.catchall(z.object({ json: schemaFormatFields.schema }), unset)),
};

/** A function that may be called. */
export const functionFields = {
  name: schemaFormatFields.name,
  description: text,
  parameters: schemaFormatFields.schema,
  strict: flag,
};

/**
 * Object with at most `maximum` members, whose keys match `names`; `rule` describes valid keys. Both are
 * checked before any value. The object stays as it is: a copy of zod loses `__proto__` and the order of names.
 */
function recordOf<Value extends z.ZodMiniType>(names: RegExp, value: Value, maximum: number, rule = '') {
  const faultOf = (input: unknown): z.core.$ZodRawIssue | undefined => {
    if (!isObject(input)) return { code: 'invalid_type', expected: 'object', input };
    const keys = Object.keys(input);
    if (keys.length > maximum) return { code: 'too_big', origin: 'object', maximum, inclusive: true, input };
    const bad = keys.find((key) => !names.test(key));
    if (bad !== undefined)
      return { code: 'invalid_key', origin: 'record', issues: [], path: [bad], message: rule, input };
    for (const [key, member] of Object.entries(input)) {
      const fault = value.safeParse(member, WITH_RULES).error?.issues[0];
      if (fault) return { ...fault, path: [key, ...fault.path] } as z.core.$ZodRawIssue;
    }
    return undefined;
  };
  return z.custom<Record<string, z.output<Value>>>().check(({ value: input, issues }) => {
    const fault = faultOf(input);
    if (fault) issues.push(fault);
  });
}
