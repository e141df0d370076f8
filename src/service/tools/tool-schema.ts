import * as z from '#base/zod';
import { functionFields } from '../body/fields.ts';

/** Schemas of tools and of the choice among them, as chat completions write them. */

const MAX_TOOLS = 128;

const toolMode = z.enum(['none', 'auto', 'required']);
const isFunction = z.literal('function');

/** A tool such as `custom` or `web_search`, which nothing here can run. */
const otherTool = z.object({
  // Aborted, so that the faults of a function are reported instead.
  type: z.string().check(z.refine((type) => type !== 'function', { abort: true })),
});

const toolList = <Tool extends z.ZodMiniObject<{ type: typeof isFunction }>>(tool: Tool) =>
  z.nullish(z.array(z.union([tool, otherTool])).check(z.maxLength(MAX_TOOLS)));

const toolChoice = <
  Named extends z.ZodMiniObject<{ type: typeof isFunction }>,
  Allowed extends z.ZodMiniObject<{ type: z.ZodMiniLiteral<'allowed_tools'> }>,
>(
  named: Named,
  allowed: Allowed,
) => {
  const types = 'must be one of "function", "allowed_tools"';
  const rule = 'must be "none", "auto", "required", or an object that names a function';
  return z.nullish(z.union([toolMode, z.discriminatedUnion('type', [named, allowed], types)], rule));
};

const allowedFields = <Named extends z.ZodMiniType>(named: Named) => ({
  tools: z.array(z.union([named, otherTool])).check(z.minLength(1), z.maxLength(MAX_TOOLS)),
});

const named = z.object({ type: isFunction, function: z.object({ name: z.string() }) });
export const chatTools = toolList(z.object({ type: isFunction, function: z.object(functionFields) }));
export const chatToolChoice = toolChoice(
  named,
  z.object({
    type: z.literal('allowed_tools'),
    allowed_tools: z.object({ ...allowedFields(named), mode: z.enum(['auto', 'required']) }),
  }),
);

/** Functions in the first notation of chat completions. */
export const legacyFunctions = z.nullish(z.array(z.object(functionFields)).check(z.maxLength(MAX_TOOLS)));
export const legacyFunctionCall = z.nullish(
  z.union(
    [z.enum(['none', 'auto']), z.object({ name: z.string() })],
    'must be "none", "auto", or an object that names a function',
  ),
);

/** Notation of the Responses API: a function's fields are not nested under `function`. */
const flatNamed = z.object({ type: isFunction, name: z.string() });
export const responseTools = toolList(z.object({ type: isFunction, ...functionFields }));
export const responseToolChoice = toolChoice(
  flatNamed,
  // Open Responses omits the mode for `auto`, and has `none`.
  z.object({
    type: z.literal('allowed_tools'),
    ...allowedFields(flatNamed),
    mode: z.pipe(
      z.nullish(toolMode),
      z.transform((mode) => mode ?? 'auto'),
    ),
  }),
);
