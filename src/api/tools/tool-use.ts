import type * as z from 'zod/mini';
import { checkJsonSchema } from '../body/json-schema.ts';
import { SchemaBudget } from '../body/schema-bounds.ts';
import { describe } from '../body/schema-issues.ts';
import { conflicting, invalidField, requestError } from '../service-error.ts';
import type { chatToolChoice, chatTools, responseToolChoice, responseTools } from './tool-schema.ts';

/** A function that the model may call. */
export interface ToolFunction {
  name: string;
  description: string | null;
  /** JSON Schema of its arguments. */
  parameters: Record<string, unknown>;
}

/** What of tools is left once the request has been checked. */
export interface ToolUse {
  functions: ToolFunction[];
  /** Whether the model may answer in words instead. */
  mustCall: boolean;
  /** Most calls in one reply. */
  most: number;
}

/** What a request says of tools, as chat completions or as responses write it. */
interface ToolFields {
  tools?: z.infer<typeof chatTools | typeof responseTools>;
  tool_choice?: z.infer<typeof chatToolChoice | typeof responseToolChoice>;
  parallel_tool_calls?: boolean | null | undefined;
}

interface ToolChoice {
  mode: 'none' | 'auto' | 'required';
  /** The only ones that may be called, and where the request names them; null: all. `one`: a single function was named. */
  allowed: { names: string[]; at: string; one: boolean } | null;
}

/** A small model does not always know when to end a list. */
const MAX_CALLS = 8;

const NO_PARAMETERS = { type: 'object', properties: {}, additionalProperties: false };

/**
 * Null: the model is to know of no tools.
 * @throws ServiceError 400 that names the field.
 */
export function toToolUse(request: ToolFields): ToolUse | null {
  const { mode, allowed } = toChoice(request.tool_choice);
  const known = new Map<string, ToolFunction>();
  const budget = new SchemaBudget();
  for (const [index, tool] of (request.tools ?? []).entries()) {
    const { name, description, parameters, strict } = flat(tool);
    const at = 'function' in tool ? `tools[${index}].function` : `tools[${index}]`;
    if (known.has(name)) {
      const message = `Duplicate function name ${describe(name)} in \`${at}.name\`. Give each function its own name.`;
      throw requestError(400, message, 'invalid_value', `${at}.name`);
    }
    if (parameters != null) checkJsonSchema(parameters, `${at}.parameters`, strict ?? false, budget);
    known.set(name, {
      name,
      description: description ?? null,
      parameters: parameters == null ? NO_PARAMETERS : { type: 'object', ...parameters },
    });
  }
  if (mode === 'required' && known.size === 0) {
    throw conflicting('tool_choice', 'needs `tools`: give the functions that may be called, or leave it out');
  }
  if (mode === 'none' || known.size === 0) return null;
  const unknown = allowed?.names.find((name) => !known.has(name));
  if (allowed && unknown !== undefined) {
    const rule = `must name functions of \`tools\`, but ${describe(unknown)} is not one of them`;
    throw invalidField(allowed.at, rule);
  }
  return {
    functions: [...known.values()].filter(({ name }) => allowed?.names.includes(name) ?? true),
    mustCall: mode === 'required',
    most: (request.parallel_tool_calls ?? true) && !allowed?.one ? MAX_CALLS : 1,
  };
}

function toChoice(choice: ToolFields['tool_choice']): ToolChoice {
  if (choice == null || typeof choice === 'string') return { mode: choice ?? 'auto', allowed: null };
  if (choice.type === 'function') {
    const at = 'function' in choice ? 'tool_choice.function.name' : 'tool_choice.name';
    return { mode: 'required', allowed: { names: [flat(choice).name], at, one: true } };
  }
  const isNested = 'allowed_tools' in choice;
  const { mode, tools } = isNested ? choice.allowed_tools : choice;
  const at = isNested ? 'tool_choice.allowed_tools.tools' : 'tool_choice.tools';
  return { mode, allowed: { names: tools.map((tool) => flat(tool).name), at, one: false } };
}

/** Chat completions have an object around a function, responses have none. */
const flat = <Fields extends object>(tool: Fields | { function: Fields }): Fields =>
  'function' in tool ? tool.function : tool;
