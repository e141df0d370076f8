import type * as z from 'zod/mini';
import { checkJsonSchema, SchemaBudget } from '../body/json-schema.ts';
import { describe, shortened } from '../body/schema-issues.ts';
import { conflicting, invalidField, requestError, unsupported } from '../../errors/service-error.ts';
import type {
  chatToolChoice,
  chatTools,
  legacyFunctionCall,
  legacyFunctions,
  responseToolChoice,
  responseTools,
} from './tool-schema.ts';
import type { ChatMessage, Constraint } from '../../jobs/chat.ts';

/** A function that the model may call. */
export interface ToolFunction {
  name: string;
  description: string | null;
  /** JSON Schema of its arguments. */
  parameters: Record<string, unknown>;
  /** Place of the schema in the request. */
  param: string;
  /** Whether a schema that cannot be enforced is an error. */
  strict: boolean;
}

/** Tools of a request that has been checked. */
export interface ToolUse {
  functions: ToolFunction[];
  /** Whether the model may answer in words instead. */
  mustCall: boolean;
  /** Whether the request names the one function to be called. */
  isNamed: boolean;
  /** Most calls in one reply. */
  most: number;
}

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
  /** The only ones that may be called, and where the request names them; null: all. `one`: a single function was named. */
  allowed: { names: string[]; at: string; one: boolean } | null;
}

/** A small model does not always know when to end a list. */
const MAX_CALLS = 8;

/** Maximum number of types that a warning names. */
const MAX_NAMED_TYPES = 8;

const NO_PARAMETERS = { type: 'object', properties: {}, additionalProperties: false };

/** Keywords of a schema that names no arguments and says nothing of others, as clients write it. */
const OF_NO_ARGUMENTS = new Set(['$schema', 'type', 'title', 'description', 'properties', 'required']);

/** Arguments of any name are not allowed where `properties` is empty: small models would make some up. */
function toParameters(schema: Schema | null | undefined): Schema {
  if (schema == null) return NO_PARAMETERS;
  const { properties, required = [] } = schema;
  const isEmpty = JSON.stringify([properties, required]) === '[{},[]]';
  const isClosed = isEmpty && Object.keys(schema).every((key) => OF_NO_ARGUMENTS.has(key));
  return { ...schema, type: 'object', ...(isClosed && { additionalProperties: false }) };
}

/** Arguments are an object, in OpenAI's service too. @throws ServiceError 400 */
function requireObject({ type = 'object' }: Schema, at: string): void {
  if ([type].flat().includes('object')) return;
  throw invalidField(
    `${at}.type`,
    `must be "object", but ${describe(type)} was given`,
    'invalid_json_schema',
  );
}

/**
 * Reads the tools of a request; null: the prompt mentions none. Tools that are not functions are left out, with a
 * warning.
 * @throws ServiceError 400 that names the field.
 */
export function toToolUse(request: ToolFields, warnings: string[]): ToolUse | null {
  const { tools, tool_choice: wanted, functions: legacy, function_call: legacyChoice } = request;
  if ((tools ?? wanted ?? legacy ?? legacyChoice) == null) return null;
  const isLegacy = (legacy ?? legacyChoice) != null;
  if (isLegacy && (tools ?? wanted) != null) {
    const rule = 'cannot be used together with `tools` or `tool_choice`, which replace it: use `tools` alone';
    throw conflicting(request.functions ? 'functions' : 'function_call', rule);
  }
  const { mode, allowed } = isLegacy ? toLegacyChoice(request.function_call) : toChoice(request.tool_choice);
  const known = new Map<string, ToolFunction>();
  const budget = new SchemaBudget();
  for (const { at, name, description, parameters, strict } of functionsOf(request, warnings)) {
    if (known.has(name)) {
      const message = `Duplicate function name ${describe(name)} in \`${at}.name\`. Give each function its own name.`;
      throw requestError(400, message, 'invalid_value', `${at}.name`);
    }
    // Without a choice among functions, no grammar is made of their parameters.
    if (parameters != null && mode !== 'none') {
      checkJsonSchema(parameters, `${at}.parameters`, strict ?? false, budget);
      requireObject(parameters, `${at}.parameters`);
    }
    known.set(name, {
      name,
      description: description ?? null,
      parameters: toParameters(parameters),
      param: `${at}.parameters`,
      strict: strict ?? false,
    });
  }
  if (mode === 'required' && known.size === 0) {
    const [choice, list] = isLegacy ? ['function_call', 'functions'] : ['tool_choice', 'tools'];
    throw conflicting(choice, `needs \`${list}\`: give the functions that may be called, or leave it out`);
  }
  if (mode === 'none' || known.size === 0) return null;
  const unknown = allowed?.names.find((name) => !known.has(name));
  if (allowed && unknown !== undefined) {
    const rule = `must name functions of \`${isLegacy ? 'functions' : 'tools'}\`, but ${describe(unknown)} is not one of them`;
    throw invalidField(allowed.at, rule);
  }
  const functions = [...known.values()].filter(({ name }) => allowed?.names.includes(name) ?? true);
  // The request allows tools that cannot run here.
  if (functions.length === 0) return null;
  return {
    functions,
    mustCall: mode === 'required',
    isNamed: allowed?.one ?? false,
    most: (request.parallel_tool_calls ?? true) && !allowed?.one && !isLegacy ? MAX_CALLS : 1,
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
  const names = tools.filter((tool) => isFunctionTool(tool)).map((tool) => flat(tool).name);
  if (mode === 'required' && names.length === 0)
    throw unsupported(at, 'must name a function: tools of other types cannot run here');
  return { mode, allowed: { names, at, one: false } };
}

/** The schemas let no other tool have this type. */
export const isFunctionTool = <Tool extends { type: string }>(
  tool: Tool,
): tool is Extract<Tool, { type: 'function' }> => tool.type === 'function';

/** Chat completions wrap a function in an object; responses do not. */
const flat = <Fields extends object>(tool: Fields | { function: Fields }): Fields =>
  'function' in tool ? tool.function : tool;

function toLegacyChoice(choice: ToolFields['function_call']): ToolChoice {
  if (choice == null || typeof choice === 'string') return { mode: choice ?? 'auto', allowed: null };
  return { mode: 'required', allowed: { names: [choice.name], at: 'function_call.name', one: true } };
}

type GivenFunction = NonNullable<ToolFields['functions']>[number] & { at: string };

/** The request's functions, and where they are in it. @throws ServiceError 400 */
function functionsOf({ tools, functions }: ToolFields, warnings: string[]): GivenFunction[] {
  const given = (functions ?? []).map((each, index) => ({ at: `functions[${index}]`, ...each }));
  const others: string[] = [];
  for (const [index, tool] of (tools ?? []).entries()) {
    const at = 'function' in tool ? `tools[${index}].function` : `tools[${index}]`;
    if (isFunctionTool(tool)) given.push({ at, ...flat(tool) });
    else others.push(tool.type);
  }
  if (others.length === 0) return given;
  if (given.length === 0)
    throw unsupported('tools[0].type', 'must be "function": tools of other types cannot run here');
  const types = [...new Set(others.map((type) => shortened(type)))].slice(0, MAX_NAMED_TYPES);
  const list = types.join(', ').replaceAll(/[^ -~]/g, '?');
  warnings.push(`Left out of \`tools\`: ${list}. Only functions can run here.`);
  return given;
}

/** Text before a call, as most models that were trained to call functions write it. */
const TOOL_CALL_PREFIX = '<tool_call>';

/** The conversation, with the functions described in its system message: that works with any chat template. */
export function withToolPrompt(messages: ChatMessage[], use: ToolUse): ChatMessage[] {
  const [first, ...rest] = messages;
  const prompt = toolPrompt(use);
  if (first?.role !== 'system') return [{ role: 'system', content: prompt }, ...messages];
  return [{ ...first, content: `${first.content}\n\n${prompt}` }, ...rest];
}

/** Instructions for calling tools. Kept short: on a CPU, reading a prompt takes as long as writing one. */
function toolPrompt({ functions, mustCall }: ToolUse): string {
  const list = functions.map(({ name, description, parameters }) =>
    JSON.stringify({ name, ...(description === null ? {} : { description }), parameters }),
  );
  const form = '[{"name": "…", "arguments": {…}}]';
  return mustCall
    ? ['Call these functions:', ...list, `Write only ${form}`].join('\n')
    : [
        'You can call these functions:',
        ...list,
        `To call, write only ${TOOL_CALL_PREFIX}${form}</tool_call>. Otherwise answer in words.`,
      ].join('\n');
}

/** Models forget the mark, and begin a list, or a block of code, with the call itself. */
const BEGINNINGS = ['', '[', '```json\n', '```json\n['];

/** Texts that show that a call begins: where one comes, the reply is regenerated, in the form of calls. */
export const toolCallPrefixes = ({ functions }: ToolUse): string[] => [
  TOOL_CALL_PREFIX,
  ...functions.flatMap(({ name }) =>
    BEGINNINGS.flatMap((beginning) => [`${beginning}{"name": "${name}"`, `${beginning}{"name":"${name}"`]),
  ),
];

type Schema = Record<string, unknown>;

/**
 * The form of a reply that calls functions: a list of names with arguments, each by its own function's schema. With
 * `otherwise` the reply may be of that form instead.
 */
export function callConstraint(use: ToolUse, otherwise: Constraint | null = null): Constraint {
  const { functions, most } = use;
  const items = functions.map(callItem);
  const [only] = items;
  const calls = {
    type: 'array',
    items: items.length === 1 && only ? only : { anyOf: items },
    minItems: 1,
    maxItems: most,
  };
  const $defs = Object.fromEntries(
    functions.map(({ name, parameters }) => [definition(name), rebase(parameters, reference(name))]),
  );
  const parts = functions.map(({ name, param, strict }) => ({
    at: ['$defs', definition(name)],
    param,
    strict,
  }));
  if (otherwise === null) return { kind: 'json_schema', schema: { ...calls, $defs }, parts };
  const isSchema = otherwise.kind === 'json_schema';
  const answer = isSchema ? rebase(otherwise.schema, '#/$defs/answer') : { type: 'object' };
  const answerParts = isSchema ? (otherwise.parts ?? []) : [];
  return {
    kind: 'json_schema',
    schema: { anyOf: [calls, { $ref: '#/$defs/answer' }], $defs: { ...$defs, answer } },
    parts: [...parts, ...answerParts.map((part) => ({ ...part, at: ['$defs', 'answer', ...part.at] }))],
  };
}

/** The name first: it is told before the arguments are there. */
function callItem({ name }: ToolFunction): Schema {
  return {
    type: 'object',
    properties: { name: { const: name }, arguments: { $ref: reference(name) } },
    required: ['name', 'arguments'],
    additionalProperties: false,
  };
}

/** A function may be called `answer`, as the other form of a reply is: names of functions have no dot. */
const definition = (name: string): string => `arguments.${name}`;

const reference = (name: string): string => `#/$defs/${definition(name)}`;

/** References point from the root of a schema, which now lies deeper. Those below an inner `$id` point from there. */
function rebase(value: unknown, root: string, isInner = false): unknown {
  if (Array.isArray(value)) return value.map((item) => rebase(item, root, true));
  if (typeof value !== 'object' || value === null) return value;
  if (isInner && '$id' in value && typeof value.$id === 'string' && !value.$id.startsWith('#')) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) =>
      key === '$ref' && typeof inner === 'string' && /^#(?:\/|$)/.test(inner)
        ? [key, root + inner.slice(1)]
        : [key, rebase(inner, root, true)],
    ),
  );
}
