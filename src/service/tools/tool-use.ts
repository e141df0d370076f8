import type * as z from 'zod/mini';
import type { functionFields } from '../body/fields.ts';
import { checkJsonSchema } from '../body/json-schema.ts';
import { SchemaBudget } from '../body/schema-bounds.ts';
import { describe } from '../body/schema-issues.ts';
import { conflicting, invalidField, requestError } from '../service-error.ts';

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

export interface ToolRequest {
  /** `at`: where its fields stand in the request. */
  functions: (z.infer<z.ZodMiniObject<typeof functionFields>> & { at: string })[];
  mode: 'none' | 'auto' | 'required';
  /** The only ones that may be called; null: all. `one`: a single function was named. */
  allowed: { names: string[]; at: string; one: boolean } | null;
  parallel: boolean;
}

/** A small model does not always know when to end a list. */
const MAX_CALLS = 8;

const NO_PARAMETERS = { type: 'object', properties: {}, additionalProperties: false };

/**
 * Null: the model is to know of no tools.
 * @throws ServiceError 400 that names the field.
 */
export function toToolUse(request: ToolRequest): ToolUse | null {
  const { functions, mode, allowed, parallel } = request;
  const known = new Map<string, ToolFunction>();
  const budget = new SchemaBudget();
  for (const { name, description, parameters, strict, at } of functions) {
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
  if (mode !== 'auto' && mode !== 'none' && known.size === 0) {
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
    most: parallel && !allowed?.one ? MAX_CALLS : 1,
  };
}
