import type * as z from 'zod/mini';
import { checkJsonSchema, SchemaBudget } from '../body/json-schema.ts';
import { writeJson, conflicting, invalidField, requestError, unsupported } from '#base';
import { describe, shortened } from '../body/schema-issues.ts';
import type {
  chatToolChoice,
  chatTools,
  legacyFunctionCall,
  legacyFunctions,
  responseToolChoice,
  responseTools,
} from './tool-schema.ts';

/** A function that the model may call. */
export interface ToolFunction {
  name: string;
  description: string | null;
  /** JSON Schema of its arguments. */
  parameters: Schema;
  /** Place of the schema in the request. */
  param: string;
  /** Whether a schema that cannot be enforced is an error. */
  strict: boolean;
}

/** The functions of a request that its reply may call. */
export interface CallableTools {
  /** The functions, at least one. */
  functions: ToolFunction[];
  /** Whether the reply must consist of calls. Otherwise the model may answer with text instead. */
  mustCall: boolean;
  /** Whether the request names the one function to be called. */
  isNamed: boolean;
  /** Maximum calls in one reply. */
  maxCalls: number;
}

type Schema = Record<string, unknown>;

/** A request's tools, in the form of chat completions or of responses. */
interface ToolFields {
  tools?: z.infer<typeof chatTools | typeof responseTools>;
  tool_choice?: z.infer<typeof chatToolChoice | typeof responseToolChoice>;
  parallel_tool_calls?: boolean | null | undefined;
  functions?: z.infer<typeof legacyFunctions>;
  function_call?: z.infer<typeof legacyFunctionCall>;
}

interface ToolChoice {
  mode: 'none' | 'auto' | 'required';
  /**
   * The only functions that may be called, and their place in the request; null: all. `one`: a single
   * function was named.
   */
  allowed: { names: string[]; at: string; one: boolean } | null;
}

/** Maximum calls of one reply: small models do not always end a list. */
const MAX_CALLS = 8;

/** Maximum number of types that a warning names. */
const MAX_NAMED_TYPES = 8;

/**
 * Reads the functions that a reply may call; null: none, and the prompt mentions none. Tools that are not
 * functions are ignored, with a warning.
 * @throws ServiceError 400 that names the field.
 */
export function readCallableTools(request: ToolFields, warnings: string[]): CallableTools | null {
  const notation = notationOf(request);
  if (notation === null) return null;
  const isLegacy = notation === 'legacy';
  const [choice, list] = isLegacy ? ['function_call', 'functions'] : ['tool_choice', 'tools'];
  const { mode, allowed } = isLegacy
    ? readLegacyChoice(request.function_call)
    : readChoice(request.tool_choice);
  const known = readFunctions(listFunctions(request, warnings), mode);
  if (mode === 'required' && known.size === 0)
    throw conflicting(choice, `needs \`${list}\`: give the functions that may be called, or leave it out`);
  if (mode === 'none' || known.size === 0) return null;
  const functions = allowed ? selected(allowed, known, list) : [...known.values()];
  // The request allows only tools that cannot run here.
  if (functions.length === 0) return null;
  const one = allowed?.one ?? false;
  const maxCalls = one || isLegacy || request.parallel_tool_calls === false ? 1 : MAX_CALLS;
  return { functions, mustCall: mode === 'required', isNamed: one, maxCalls };
}

/** Notation of the request's tools; null: it has none. @throws ServiceError 400 if it has both notations */
function notationOf(request: ToolFields): 'current' | 'legacy' | null {
  const { tools, tool_choice: choice, functions, function_call: legacyChoice } = request;
  if ((functions ?? legacyChoice) == null) return (tools ?? choice) == null ? null : 'current';
  if ((tools ?? choice) == null) return 'legacy';
  const rule = 'cannot be used together with `tools` or `tool_choice`, which replace it: use `tools` alone';
  throw conflicting(functions ? 'functions' : 'function_call', rule);
}

/**
 * The functions that the choice allows, in their order.
 * @throws ServiceError 400 if it names another function
 */
function selected(
  { names, at }: NonNullable<ToolChoice['allowed']>,
  known: ReadonlyMap<string, ToolFunction>,
  list: string,
): ToolFunction[] {
  const unknown = names.find((name) => !known.has(name));
  if (unknown === undefined) return [...known.values()].filter(({ name }) => names.includes(name));
  throw invalidField(at, `must name functions of \`${list}\`, but ${describe(unknown)} is not one of them`);
}

function readChoice(choice: ToolFields['tool_choice']): ToolChoice {
  if (choice == null || typeof choice === 'string') return { mode: choice ?? 'auto', allowed: null };
  if (choice.type === 'function') {
    const at = 'function' in choice ? 'tool_choice.function.name' : 'tool_choice.name';
    return { mode: 'required', allowed: { names: [flat(choice).name], at, one: true } };
  }
  const isNested = 'allowed_tools' in choice;
  const { mode, tools } = isNested ? choice.allowed_tools : choice;
  const at = isNested ? 'tool_choice.allowed_tools.tools' : 'tool_choice.tools';
  const names = [...tools].filter((tool) => isFunctionTool(tool)).map((tool) => flat(tool).name);
  if (mode === 'required' && names.length === 0)
    throw unsupported(at, 'must name a function: tools of other types cannot run here');
  return { mode, allowed: { names, at, one: false } };
}

/** Narrows a tool to a function: the schemas allow the type `function` for no other tool. */
export const isFunctionTool = <Tool extends { type: string }>(
  tool: Tool,
): tool is Extract<Tool, { type: 'function' }> => tool.type === 'function';

/** Chat completions wrap a function in an object; responses do not. */
const flat = <Fields extends object>(tool: Fields | { function: Fields }): Fields =>
  'function' in tool ? tool.function : tool;

function readLegacyChoice(choice: ToolFields['function_call']): ToolChoice {
  if (choice == null || typeof choice === 'string') return { mode: choice ?? 'auto', allowed: null };
  return { mode: 'required', allowed: { names: [choice.name], at: 'function_call.name', one: true } };
}

type GivenFunction = NonNullable<ToolFields['functions']>[number] & { at: string };

/** The request's functions, each with its place in the request. @throws ServiceError 400 */
function listFunctions({ tools, functions }: ToolFields, warnings: string[]): GivenFunction[] {
  const entries = (functions ?? []).map((each, index) => ({ at: `functions[${index}]`, ...each }));
  const others: string[] = [];
  for (const [index, tool] of (tools ?? []).entries()) {
    const at = 'function' in tool ? `tools[${index}].function` : `tools[${index}]`;
    if (isFunctionTool(tool)) entries.push({ at, ...flat(tool) });
    else others.push(tool.type);
  }
  if (others.length === 0) return entries;
  if (entries.length === 0)
    throw unsupported('tools[0].type', 'must be "function": tools of other types cannot run here');
  const types = [...new Set(others.map((type) => shortened(type)))].slice(0, MAX_NAMED_TYPES);
  const list = types.join(', ').replaceAll(/[^ -~]/g, '?');
  warnings.push(`Left out of \`tools\`: ${list}. Only functions can run here.`);
  return entries;
}

/** The functions by name. @throws ServiceError 400 for a duplicate name, or an invalid schema */
function readFunctions(
  entries: readonly GivenFunction[],
  mode: ToolChoice['mode'],
): ReadonlyMap<string, ToolFunction> {
  const known = new Map<string, ToolFunction>();
  const budget = new SchemaBudget();
  for (const { at, name, description = null, parameters, strict: isStrict } of entries) {
    const [param, strict] = [`${at}.parameters`, isStrict ?? false];
    if (known.has(name)) {
      const message = `Duplicate function name ${describe(name)} in \`${at}.name\`. Give each function its own name.`;
      throw requestError(400, message, 'invalid_value', `${at}.name`);
    }
    // With the mode `none`, no grammar is made of the parameters.
    if (parameters != null && mode !== 'none') {
      checkJsonSchema(parameters, param, strict, budget);
      requireObject(parameters, param);
    }
    known.set(name, { name, description, parameters: toParameters(parameters), param, strict });
  }
  return known;
}

const NO_PARAMETERS = { type: 'object', properties: {}, additionalProperties: false };

/** Keywords that a schema without arguments may have and still be closed. */
const EMPTY_OBJECT_KEYWORDS = new Set(['$schema', 'type', 'title', 'description', 'properties', 'required']);

/** Closes a schema that names no properties: small models would invent arguments. */
function toParameters(schema: Schema | null | undefined): Schema {
  if (schema == null) return NO_PARAMETERS;
  const { properties = {}, required = [] } = schema;
  const isEmpty = writeJson([properties, required]) === '[{},[]]';
  const isClosed = isEmpty && Object.keys(schema).every((key) => EMPTY_OBJECT_KEYWORDS.has(key));
  return { ...schema, type: 'object', ...(isClosed && { additionalProperties: false }) };
}

/** Requires that arguments are an object, as OpenAI's service does. @throws ServiceError 400 */
function requireObject({ type = 'object' }: Schema, at: string): void {
  if ([type].flat().includes('object')) return;
  throw invalidField(
    `${at}.type`,
    `must be "object", but ${describe(type)} was given`,
    'invalid_json_schema',
  );
}
