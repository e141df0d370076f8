import type * as z from 'zod/mini';
import { checkJsonSchema, SchemaBudget } from '../body/json-schema.ts';
import { writeJson, conflicting, invalidField, requestError, unsupported } from '#base';
import { describe, shortened } from '../body/schema-issues.ts';
import type {
  chatToolChoice,
  chatTools,
  legacyFunctionCall,
  inputTools,
  legacyFunctions,
  responseToolChoice,
  responseTools,
} from './tool-schema.ts';

/** A tool as its client knows it. A custom tool takes one text. */
export interface ToolName {
  kind: 'function' | 'custom';
  name: string;
  namespace?: string;
}

/** The name by which the model calls a tool. */
export const calledName = ({ namespace, name }: Omit<ToolName, 'kind'>): string =>
  namespace === undefined ? name : `${namespace}.${name}`;

/** A function that the model may call. */
export interface ToolFunction {
  tool: ToolName;
  /** `calledName` of the tool. */
  name: string;
  description: string | null;
  /** JSON Schema of its arguments. */
  parameters: Schema;
  /** Place of the schema in the request; for a custom tool, of the pattern of its text. */
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
  allowed: { names: AllowedName[]; at: string; one: boolean } | null;
}

/** A function, or all tools of a namespace. */
type AllowedName = Pick<ToolName, 'name'> & { isNamespace: boolean };

/** Tools of a request beyond `tools`, and their place. */
export interface MoreTools {
  at: string;
  tools: z.infer<typeof inputTools>;
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
export function readCallableTools(
  request: ToolFields,
  warnings: string[],
  more: readonly MoreTools[] = [],
): CallableTools | null {
  const notation = notationOf(request) ?? (more.length > 0 ? 'current' : null);
  if (notation === null) return null;
  const isLegacy = notation === 'legacy';
  const [choice, list] = isLegacy ? ['function_call', 'functions'] : ['tool_choice', 'tools'];
  const { mode, allowed } = isLegacy
    ? readLegacyChoice(request.function_call)
    : readChoice(request.tool_choice);
  const known = readFunctions(listTools(request, more, warnings), mode);
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
  const functions = [...known.values()];
  const unknown = names.find((each) => !functions.some((one) => isNamed(one, each)));
  if (unknown === undefined) return functions.filter((one) => names.some((each) => isNamed(one, each)));
  const rule = `must name functions of \`${list}\`, but ${describe(unknown.name)} is not one of them`;
  throw invalidField(at, rule);
}

const isNamed = ({ tool, name }: ToolFunction, allowed: AllowedName): boolean =>
  allowed.isNamespace ? tool.namespace === allowed.name : [tool.name, name].includes(allowed.name);

function readChoice(choice: ToolFields['tool_choice']): ToolChoice {
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
function flat<Tool extends { type: string }>(tool: Tool): object {
  const inner: unknown = tool[tool.type as keyof Tool];
  return typeof inner === 'object' && inner !== null ? inner : tool;
}

function readLegacyChoice(choice: ToolFields['function_call']): ToolChoice {
  if (choice == null || typeof choice === 'string') return { mode: choice ?? 'auto', allowed: null };
  return {
    mode: 'required',
    allowed: { names: [{ name: choice.name, isNamespace: false }], at: 'function_call.name', one: true },
  };
}

type Tools = NonNullable<ToolFields['tools']>;
type KnownTool = Extract<Tools[number], { type: 'function' | 'custom' | 'namespace' }>;
type Leaf = Exclude<KnownTool, { type: 'namespace' }>;
type FunctionFields = NonNullable<ToolFields['functions']>[number];
type CustomFields = Extract<NonNullable<z.infer<typeof responseTools>>[number], { type: 'custom' }>;

/** A tool with its place in the request. */
type GivenTool = { at: string; namespace?: string } & (
  { kind: 'function'; fields: FunctionFields } | { kind: 'custom'; fields: Omit<CustomFields, 'type'> }
);

/** The request's functions and custom tools. @throws ServiceError 400 */
function listTools(
  { tools, functions }: ToolFields,
  more: readonly MoreTools[],
  warnings: string[],
): GivenTool[] {
  const given = (functions ?? []).map((fields, index): GivenTool => ({
    kind: 'function',
    at: `functions[${index}]`,
    fields,
  }));
  const others: string[] = [];
  for (const list of [{ at: 'tools', tools: tools ?? [] }, ...more])
    for (const [index, tool] of list.tools.entries()) {
      if (isKnown(tool)) given.push(...leavesOf(tool, `${list.at}[${index}]`));
      else others.push(tool.type);
    }
  if (others.length === 0) return given;
  if (given.length === 0)
    throw unsupported(
      'tools[0].type',
      'must be "function" or "custom": tools of other types cannot run here',
    );
  const types = [...new Set(others.map((type) => shortened(type)))].slice(0, MAX_NAMED_TYPES);
  const list = types.join(', ').replaceAll(/[^ -~]/g, '?');
  warnings.push(`Left out of \`tools\`: ${list}. Only functions and custom tools can run here.`);
  return given;
}

function leavesOf(tool: KnownTool, at: string): GivenTool[] {
  if (tool.type !== 'namespace') return [given(tool, at)];
  const { name, tools } = tool;
  return (tools as Leaf[]).map((leaf, index) => ({
    ...given(leaf, `${at}.tools[${index}]`),
    namespace: name,
  }));
}

function given(tool: Leaf, at: string): GivenTool {
  const isNested = tool.type in tool;
  const place = isNested ? `${at}.${tool.type}` : at;
  if (tool.type === 'function') return { kind: 'function', at: place, fields: flat(tool) as FunctionFields };
  const { format, ...fields } = flat(tool) as Omit<CustomFields, 'type'>;
  const grammar = format?.type === 'grammar' && 'grammar' in format ? (format.grammar as object) : {};
  return { kind: 'custom', at: place, fields: { ...fields, format: format && { ...format, ...grammar } } };
}

/** The functions by name. @throws ServiceError 400 for a duplicate name, or an invalid schema */
function readFunctions(
  tools: readonly GivenTool[],
  mode: ToolChoice['mode'],
): ReadonlyMap<string, ToolFunction> {
  const known = new Map<string, ToolFunction>();
  const budget = new SchemaBudget();
  for (const given of tools) {
    const { at, kind, namespace, fields } = given;
    const tool: ToolName = { kind, name: fields.name, ...(namespace !== undefined && { namespace }) };
    const name = calledName(tool);
    const isRepeated = known.has(name) && at.startsWith('input');
    if (known.has(name) && !isRepeated) {
      const message = `Duplicate function name ${describe(name)} in \`${at}.name\`. Give each function its own name.`;
      throw requestError(400, message, 'invalid_value', `${at}.name`);
    }
    const schema = given.kind === 'custom' ? customSchema(given) : functionSchema(given, mode, budget);
    known.set(name, { tool, name, description: fields.description ?? null, ...schema });
  }
  return known;
}

type ToolSchema = Pick<ToolFunction, 'parameters' | 'param' | 'strict'>;

function functionSchema(
  { at, fields: { parameters, strict } }: Extract<GivenTool, { kind: 'function' }>,
  mode: ToolChoice['mode'],
  budget: SchemaBudget,
): ToolSchema {
  const param = `${at}.parameters`;
  const isStrict = strict ?? false;
  // With the mode `none`, no grammar is made of the parameters.
  if (parameters != null && mode !== 'none') {
    checkJsonSchema(parameters, param, isStrict, budget);
    requireObject(parameters, param);
  }
  return { parameters: toParameters(parameters), param, strict: isStrict };
}

/** A custom tool is a function with one text. */
function customSchema({ at, fields: { format } }: Extract<GivenTool, { kind: 'custom' }>): ToolSchema {
  const pattern = format?.type === 'grammar' ? { pattern: `^(?:${format.definition})$` } : {};
  const parameters = {
    type: 'object',
    properties: { [CUSTOM_INPUT]: { type: 'string', ...pattern } },
    required: [CUSTOM_INPUT],
    additionalProperties: false,
  };
  return { parameters, param: `${at}.format`, strict: true };
}

/** Name of the text in the arguments of a custom tool. */
export const CUSTOM_INPUT = 'input';

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
