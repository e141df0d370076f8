import * as z from '#base/zod';
import { invalidField } from '#base';

const MAX_INPUTS = 2048;
/** Maximum tokens of one request: OpenAI's limit. */
const MAX_TOKENS = 300_000;
/** Maximum JSON values of a body: the tokens, their arrays, and the other fields. */
const MAX_VALUES = MAX_TOKENS + MAX_INPUTS + 100;

const text = z.string().check(z.minLength(1));
const tokens = tokenList();

const INPUT = `must be a string, not empty, or an array of 1 to ${MAX_INPUTS} of them, or token ids as an array, or an array of such arrays`;

const enforced = {
  model: z.string(),
  input: z.union(
    [
      text,
      z.array(text).check(z.minLength(1), z.maxLength(MAX_INPUTS)),
      tokens,
      z.array(tokens).check(z.minLength(1), z.maxLength(MAX_INPUTS)),
    ],
    INPUT,
  ),
  encoding_format: z.nullish(z.enum(['float', 'base64'])),
};

const passedOn = { dimensions: z.nullish(z.int().check(z.gte(1))), input_type: z.nullish(z.string()) };

const ignored = { user: z.nullish(z.string()) };

export const embeddingsRules = {
  fields: { enforced, passedOn, ignored },
  schema: z.object({ ...enforced, ...passedOn, ...ignored }),
  maxValues: MAX_VALUES,
  precheck: refuseTooMany,
};

export type EmbeddingsBody = z.infer<z.ZodMiniObject<typeof enforced & typeof passedOn>>;

/** Runs before the schema, which may report the limit of an alternative that the client did not mean. */
function refuseTooMany(body: Record<string, unknown>): void {
  const input = Object.hasOwn(body, 'input') ? body['input'] : undefined;
  if (!Array.isArray(input)) return;
  const most = typeof input[0] === 'number' ? MAX_TOKENS : MAX_INPUTS;
  if (input.length <= most) return;
  const rule = `must have at most ${most} elements, but has ${input.length}`;
  throw invalidField('input', `${rule}. Send several requests`);
}

/** Checks token ids in one pass: zod's own check takes a microsecond for each, and there may be very many. */
function tokenList() {
  // An issue that does not abort lets zod go on with all ids.
  const token = z.int().check(z.gte(0, { abort: true }));
  const list = z.array(token).check(z.minLength(1), z.maxLength(MAX_TOKENS));
  const { _zod: internals } = list;
  const { parse } = internals;
  internals.parse = (payload, context) => {
    const input: unknown = payload.value;
    if (!Array.isArray(input)) return parse(payload, context);
    const fault = input.findIndex((id) => !Number.isSafeInteger(id) || id < 0);
    if (fault === -1) return payload;
    const one = parse({ ...payload, value: [input[fault]], issues: [] }, context);
    if (one instanceof Promise) return one;
    for (const issue of one.issues)
      payload.issues.push({ ...issue, path: [fault, ...(issue.path?.slice(1) ?? [])] });
    return payload;
  };
  return list;
}
