import * as z from '#base/zod';
import { functionFields } from '../body/fields.ts';
import { MAX_TOOLS } from './tool-function.ts';

/** Schemas of tools and of the choice among them, as chat completions write them. */

const toolMode = z.enum(['none', 'auto', 'required']);
const isFunction = z.literal('function');

const isCustom = z.literal('custom');
const isNamespace = z.literal('namespace');

/** A tool such as `web_search`, which nothing here can run. */
const otherTool = z.object({
  // Aborted, so that the faults of a known tool are reported instead.
  type: z
    .string()
    .check(z.refine((type) => !['function', 'custom', 'namespace'].includes(type), { abort: true })),
});

const HAS_TYPE = 'must be an object with `type`';

/** Tools of known types, or of others. */
const orOther = <Known extends z.ZodMiniType>(known: Known) => z.array(z.union([known, otherTool], HAS_TYPE));

const syntax = z.enum(
  ['regex'],
  'must be "regex": only regular expressions can be enforced. For text without a form, omit `format`',
);
const grammar = { definition: z.string(), syntax };
const isGrammar = z.literal('grammar');
const textFormat = z.object({ type: z.literal('text') });

/** A tool that takes one text. */
const customFields = <Format extends z.ZodMiniObject<{ type: typeof isGrammar }>>(format: Format) => ({
  name: functionFields.name,
  description: functionFields.description,
  format: z.nullish(z.discriminatedUnion('type', [textFormat, format])),
});

const toolList = <
  Tool extends z.ZodMiniObject<{ type: typeof isFunction }>,
  Custom extends z.ZodMiniObject<{ type: typeof isCustom }>,
>(
  tool: Tool,
  custom: Custom,
) => {
  const namespace = z.object({
    type: isNamespace,
    name: functionFields.name,
    description: functionFields.description,
    tools: z
      .array(z.discriminatedUnion('type', [tool, custom]))
      .check(z.minLength(1), z.maxLength(MAX_TOOLS)),
  });
  const known = z.discriminatedUnion('type', [tool, custom, namespace]);
  return orOther(known).check(z.maxLength(MAX_TOOLS));
};

const toolChoice = <
  Named extends z.ZodMiniObject<{ type: typeof isFunction }>,
  Custom extends z.ZodMiniObject<{ type: typeof isCustom }>,
  Allowed extends z.ZodMiniObject<{ type: z.ZodMiniLiteral<'allowed_tools'> }>,
>(
  named: Named,
  custom: Custom,
  allowed: Allowed,
) => {
  const rule = 'must be "none", "auto", "required", or an object that names a function';
  return z.nullish(z.union([toolMode, z.discriminatedUnion('type', [named, custom, allowed])], rule));
};

const allowedFields = <
  Named extends z.ZodMiniObject<{ type: typeof isFunction }>,
  Custom extends z.ZodMiniObject<{ type: typeof isCustom }>,
>(
  named: Named,
  custom: Custom,
) => {
  const namespace = z.object({ type: isNamespace, name: z.string() });
  const known = z.discriminatedUnion('type', [named, custom, namespace]);
  return { tools: orOther(known).check(z.minLength(1), z.maxLength(MAX_TOOLS)) };
};

const toolName = z.object({ name: z.string() });
const named = z.object({ type: isFunction, function: toolName });
const namedCustom = z.object({ type: isCustom, custom: toolName });
export const chatTools = z.nullish(
  toolList(
    z.object({ type: isFunction, function: z.object(functionFields) }),
    z.object({
      type: isCustom,
      custom: z.object(customFields(z.object({ type: isGrammar, grammar: z.object(grammar) }))),
    }),
  ),
);
export const chatToolChoice = toolChoice(
  named,
  namedCustom,
  z.object({
    type: z.literal('allowed_tools'),
    allowed_tools: z.object({ ...allowedFields(named, namedCustom), mode: z.enum(['auto', 'required']) }),
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
const flatCustom = z.object({ type: isCustom, name: z.string() });
/** Tools in the input of a response. */
export const inputTools = toolList(
  z.object({ type: isFunction, ...functionFields }),
  z.object({ type: isCustom, ...customFields(z.object({ type: isGrammar, ...grammar })) }),
);
export const responseTools = z.nullish(inputTools);
export const responseToolChoice = toolChoice(
  flatNamed,
  flatCustom,
  // Open Responses omits the mode for `auto`, and has `none`.
  z.object({
    type: z.literal('allowed_tools'),
    ...allowedFields(flatNamed, flatCustom),
    mode: z.pipe(
      z.nullish(toolMode),
      z.transform((mode) => mode ?? 'auto'),
    ),
  }),
);
