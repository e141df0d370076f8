import { checkJsonSchema, isRegExp, SchemaBudget } from '#grammar/check';
import { isObject, conflicting, invalidField, requestError, describe } from '#base';
import { type GivenTool, listTools, type MoreTools, type ToolFields } from './given-tools.ts';
import { type ChoiceFields, readChoice, selected, type RequestedChoice } from './requested-choice.ts';
import { calledName, CUSTOM_INPUT, MAX_TOOLS, type ToolFunction, type ToolName } from './tool-function.ts';

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

/** Maximum calls of one reply: small models do not always end a list. */
const MAX_CALLS = 8;

/**
 * Reads the functions that a reply may call; null: none, and the prompt mentions none. Tools that are not
 * functions are ignored, with a warning.
 * @throws ServiceError 400 that names the field.
 */
export function readCallableTools(
  request: ToolFields & ChoiceFields & { parallel_tool_calls?: boolean | null | undefined },
  warnings: string[],
  more: readonly MoreTools[] = [],
): CallableTools | null {
  const isLegacy = hasLegacyNotation(request);
  const { mode, allowed } = readChoice(request);
  const known = readFunctions(listTools(request, more, warnings), mode);
  const [choice, list] = isLegacy ? ['function_call', 'functions'] : ['tool_choice', 'tools'];
  if (mode === 'required' && known.size === 0)
    throw conflicting(choice, `needs \`${list}\`: give the functions that may be called, or leave it out`);
  if (mode === 'none' || known.size === 0) return null;
  const functions = allowed ? selected(allowed, known, list) : [...known.values()];
  // The request allows only tools that cannot run here.
  if (functions.length === 0) return null;
  const isNamed = allowed?.one ?? false;
  const isSingle = isNamed || isLegacy || request.parallel_tool_calls === false;
  return { functions, mustCall: mode === 'required', isNamed, maxCalls: isSingle ? 1 : MAX_CALLS };
}

/** Whether a request has its functions in the older notation. @throws ServiceError 400 if it has both */
function hasLegacyNotation(request: ToolFields & ChoiceFields): boolean {
  const { tools, tool_choice: choice, functions, function_call: legacyChoice } = request;
  const isLegacy = (functions ?? legacyChoice) != null;
  if (!isLegacy || (tools ?? choice) == null) return isLegacy;
  const rule = 'cannot be used together with `tools` or `tool_choice`, which replace it: use `tools` alone';
  throw conflicting(functions ? 'functions' : 'function_call', rule);
}

/** The functions by name. @throws ServiceError 400 for a duplicate name, or an invalid schema */
function readFunctions(
  tools: readonly GivenTool[],
  mode: RequestedChoice['mode'],
): ReadonlyMap<string, ToolFunction> {
  const known = new Map<string, { each: GivenTool; tool: ToolName }>();
  for (const each of tools) {
    const { at, kind, namespace, fields } = each;
    const tool: ToolName = { kind, name: fields.name, ...(namespace !== undefined && { namespace }) };
    const name = calledName(tool);
    // The last tool of a name in a conversation counts.
    if (known.has(name) && /^(tools|functions)\b/.test(at)) {
      const message = `Duplicate function name ${describe(name)} in \`${at}.name\`. Give each function its own name.`;
      throw requestError(400, message, 'invalid_value', `${at}.name`);
    }
    known.set(name, { each, tool });
    if (known.size > MAX_TOOLS) throw invalidField(at, `is one of more than ${MAX_TOOLS} tools: send fewer`);
  }
  const budget = new SchemaBudget();
  const functions = [...known].map(([name, { each, tool }]): [string, ToolFunction] => {
    const schema = each.kind === 'custom' ? customSchema(each) : functionSchema(each, mode, budget);
    return [name, { tool, name, description: each.fields.description ?? null, ...schema }];
  });
  return new Map(functions);
}

type ToolSchema = Pick<ToolFunction, 'parameters' | 'param' | 'strict'>;

function functionSchema(
  { at, fields: { parameters, strict } }: Extract<GivenTool, { kind: 'function' }>,
  mode: RequestedChoice['mode'],
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
function customSchema({ pattern, patternAt }: Extract<GivenTool, { kind: 'custom' }>): ToolSchema {
  // Within the group, `a)|(b` would be an expression.
  const whole = pattern !== null && { pattern: isRegExp(pattern) ? `^(?:${pattern})$` : pattern };
  const parameters = {
    type: 'object',
    properties: { [CUSTOM_INPUT]: { type: 'string', ...whole } },
    required: [CUSTOM_INPUT],
    additionalProperties: false,
  };
  return { parameters, param: patternAt, strict: true };
}

const NO_PARAMETERS = { type: 'object', properties: {}, additionalProperties: false };

/** Keywords that a schema without arguments may have and still be closed. */
const EMPTY_OBJECT_KEYWORDS = new Set(['$schema', 'type', 'title', 'description', 'properties', 'required']);

/** Closes a schema that names no properties: small models would invent arguments. */
function toParameters(schema: Schema | null | undefined): Schema {
  if (schema == null) return NO_PARAMETERS;
  const { properties = {}, required = [] } = schema;
  const namesNone = isObject(properties) && Object.keys(properties).length === 0;
  const isEmpty = namesNone && Array.isArray(required) && required.length === 0;
  const isClosed = isEmpty && Object.keys(schema).every((key) => EMPTY_OBJECT_KEYWORDS.has(key));
  return { ...schema, type: 'object', ...(isClosed && { additionalProperties: false }) };
}

/** Requires that arguments are an object, as OpenAI's service does. @throws ServiceError 400 */
function requireObject({ type = 'object' }: Schema, at: string): void {
  if ([type].flat().includes('object')) return;
  const rule = `must be "object", but ${describe(type)} was given`;
  throw invalidField(`${at}.type`, rule, 'invalid_json_schema');
}
