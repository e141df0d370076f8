import type * as z from 'zod/mini';
import { invalidField, unsupported, describe } from '#base';
import type { ToolFunction, ToolName } from './tool-function.ts';
import type { chatToolChoice, legacyFunctionCall, responseToolChoice } from './tool-schema.ts';

/** A request's choice of tools, in the form of chat completions or of responses. */
export interface ChoiceFields {
  tool_choice?: z.infer<typeof chatToolChoice | typeof responseToolChoice>;
  function_call?: z.infer<typeof legacyFunctionCall>;
}

export interface RequestedChoice {
  mode: 'none' | 'auto' | 'required';
  /**
   * The only functions that may be called, and their place in the request; null: all. `one`: a single
   * function was named.
   */
  allowed: { names: AllowedName[]; at: string; one: boolean } | null;
}

/** A function, or all tools of a namespace. */
type AllowedName = Pick<ToolName, 'name'> & { isNamespace: boolean };

export function readChoice({ tool_choice: choice, function_call: legacy }: ChoiceFields): RequestedChoice {
  if (legacy != null) return readLegacyChoice(legacy);
  if (choice == null || typeof choice === 'string') return { mode: choice ?? 'auto', allowed: null };
  if (choice.type !== 'allowed_tools') {
    const at = choice.type in choice ? `tool_choice.${choice.type}.name` : 'tool_choice.name';
    return { mode: 'required', allowed: { names: allowedName(choice), at, one: true } };
  }
  const isNested = 'allowed_tools' in choice;
  const { mode, tools } = isNested ? choice.allowed_tools : choice;
  const at = isNested ? 'tool_choice.allowed_tools.tools' : 'tool_choice.tools';
  const names = [...tools].flatMap(allowedName);
  if (mode === 'required' && names.length === 0)
    throw unsupported(at, 'must name a function: tools of other types cannot run here');
  return { mode, allowed: { names, at, one: false } };
}

/** Reads the name in a tool choice; none for a tool of another type. */
function allowedName(tool: { type: string }): AllowedName[] {
  if (!isKnownType(tool.type)) return [];
  const { name } = flat(tool) as { name: string };
  return [{ name, isNamespace: tool.type === 'namespace' }];
}

/** Narrows a tool to those that can be called: the schemas allow these types for no other tool. */
export const isKnown = <Tool extends { type: string }>(
  tool: Tool,
): tool is Extract<Tool, { type: 'function' | 'custom' | 'namespace' }> => isKnownType(tool.type);

const isKnownType = (type: string): boolean => ['function', 'custom', 'namespace'].includes(type);

/** Chat completions wrap a tool in an object that its type names; responses do not. */
export function flat<Tool extends { type: string }>(tool: Tool): object {
  const inner: unknown = tool[tool.type as keyof Tool];
  return typeof inner === 'object' && inner !== null ? inner : tool;
}

function readLegacyChoice(choice: NonNullable<ChoiceFields['function_call']>): RequestedChoice {
  if (typeof choice === 'string') return { mode: choice, allowed: null };
  return {
    mode: 'required',
    allowed: { names: [{ name: choice.name, isNamespace: false }], at: 'function_call.name', one: true },
  };
}

/**
 * The functions that the choice allows, in their order.
 * @throws ServiceError 400 if it names another function
 */
export function selected(
  { names, at }: NonNullable<RequestedChoice['allowed']>,
  known: ReadonlyMap<string, ToolFunction>,
  list: string,
): ToolFunction[] {
  const functions = [...known.values()];
  const unknown = names.find((each) => !functions.some((one) => isNamed(one, each)));
  if (unknown === undefined) return functions.filter((one) => names.some((each) => isNamed(one, each)));
  const rule = `must name functions of \`${list}\`, but ${describe(unknown.name)} is not one of them`;
  throw invalidField(at, rule);
}

const isNamed = ({ tool, name }: ToolFunction, allowed: AllowedName): boolean =>
  allowed.isNamespace ? tool.namespace === allowed.name : [tool.name, name].includes(allowed.name);
