import type { Constraint, SchemaPart } from '#jobs';
import { entriesOf, fromEntries, readJson, writeJson, isObject } from '#base';
import { SCHEMA_MAPS } from '#grammar/check';
import type { CallableTools } from './callable-tools.ts';
import { CUSTOM_INPUT, type ToolFunction } from './tool-function.ts';

type Schema = Record<string, unknown>;

/**
 * Constraint of a reply that calls functions: a list of names and arguments, which match the function's own
 * schema. `otherwise`: form of a reply without calls.
 */
export function callConstraint(
  { functions, maxCalls }: CallableTools,
  otherwise: Constraint | null = null,
): Constraint {
  const items = functions.map(callItem);
  const item = items.length === 1 ? items[0] : { anyOf: items };
  const calls = { type: 'array', items: item, minItems: 1, maxItems: maxCalls };
  const $defs = Object.fromEntries(
    functions.map(({ name, parameters }) => [definition(name), rebase(parameters, reference(name))]),
  );
  const parts = functions.map(partOf);
  if (otherwise === null) return { kind: 'json_schema', schema: writeJson({ ...calls, $defs }), parts };
  const isSchema = otherwise.kind === 'json_schema';
  const answer = isSchema ? rebase(readJson(otherwise.schema), '#/$defs/answer') : { type: 'object' };
  const answerParts = isSchema ? (otherwise.parts ?? []) : [];
  return {
    kind: 'json_schema',
    schema: writeJson({ anyOf: [calls, { $ref: '#/$defs/answer' }], $defs: { ...$defs, answer } }),
    parts: [...parts, ...answerParts.map((part) => ({ ...part, at: ['$defs', 'answer', ...part.at] }))],
  };
}

function partOf({ tool, name, param, strict }: ToolFunction): SchemaPart {
  const at = ['$defs', definition(name)];
  if (tool.kind === 'function') return { at, param, strict };
  return { at: [...at, 'properties', CUSTOM_INPUT], param, strict, isKeyword: true };
}

/** The name comes first, so that it can be streamed before the arguments. */
function callItem({ name }: ToolFunction): Schema {
  return {
    type: 'object',
    properties: { name: { const: name }, arguments: { $ref: reference(name) } },
    required: ['name', 'arguments'],
    additionalProperties: false,
  };
}

/** Name of a function's definition. None is the same as `answer`, the other form of a reply. */
const definition = (name: string): string => `arguments.${name}`;

const reference = (name: string): string => `#/$defs/${definition(name)}`;

/**
 * Rebases references, which point from the root of a schema that is now nested. References below an inner
 * `$id` point from there. The values of `const` and `enum` are data.
 * @param isMap whether the keys of the value are names, of properties or definitions
 */
function rebase(value: unknown, root: string, isInner = false, isMap = false): unknown {
  if (Array.isArray(value)) return value.map((item) => rebase(item, root, true));
  if (!isObject(value)) return value;
  const isData = (key: string): boolean => !isMap && (key === 'const' || key === 'enum');
  const { $id } = value;
  if (isInner && typeof $id === 'string' && !$id.startsWith('#')) return value;
  return fromEntries(
    entriesOf(value).map(([key, inner]) => {
      if (isData(key)) return [key, inner];
      return key === '$ref' && typeof inner === 'string' && /^#(?:\/|$)/.test(inner)
        ? [key, root + inner.slice(1)]
        : [key, rebase(inner, root, true, !isMap && SCHEMA_MAPS.includes(key))];
    }),
  );
}
