import * as z from 'zod/mini';
import { flag, schemaFormatFields, text } from '../body/fields.ts';

/** What tools and the choice among them may be, as chat completions write them. */

const MAX_TOOLS = 128;

const functionFields = {
  name: schemaFormatFields.name,
  description: text,
  parameters: schemaFormatFields.schema,
  strict: flag,
};

const toolList = <Tool extends z.ZodMiniType>(tool: Tool) =>
  z.nullish(z.array(tool).check(z.maxLength(MAX_TOOLS)));

const functionTool = z.object({ type: z.literal('function'), function: z.object(functionFields) });
const named = z.object({ type: z.literal('function'), function: z.object({ name: z.string() }) });

const toolMode = z.enum(['none', 'auto', 'required']);
const allowedMode = z.enum(['auto', 'required']);

export const chatTools = toolList(
  z.discriminatedUnion(
    'type',
    [functionTool],
    'must be "function": tools of other types cannot be used here',
  ),
);

export const chatToolChoice = z.nullish(
  z.union(
    [
      toolMode,
      z.discriminatedUnion(
        'type',
        [
          named,
          z.object({
            type: z.literal('allowed_tools'),
            allowed_tools: z.object({
              mode: allowedMode,
              tools: z.array(named).check(z.minLength(1), z.maxLength(MAX_TOOLS)),
            }),
          }),
        ],
        'must be one of "function", "allowed_tools"',
      ),
    ],
    'must be "none", "auto", "required", or an object that names a function',
  ),
);

/** The same in the notation of the Responses API, which has no object around a function. */
const flatNamed = z.object({ type: z.literal('function'), name: z.string() });

export const responseTools = toolList(
  z.discriminatedUnion(
    'type',
    [z.object({ type: z.literal('function'), ...functionFields })],
    'must be "function": tools of other types cannot be used here',
  ),
);

export const responseToolChoice = z.nullish(
  z.union(
    [
      toolMode,
      z.discriminatedUnion(
        'type',
        [
          flatNamed,
          z.object({
            type: z.literal('allowed_tools'),
            mode: allowedMode,
            tools: z.array(flatNamed).check(z.minLength(1), z.maxLength(MAX_TOOLS)),
          }),
        ],
        'must be one of "function", "allowed_tools"',
      ),
    ],
    'must be "none", "auto", "required", or an object that names a function',
  ),
);
