import type { Constraint } from '../../protocol/job.ts';
import type { ToolFunction, ToolUse } from './tool-use.ts';

type Schema = Record<string, unknown>;

/**
 * The form of a reply that calls functions: a list of names with arguments, each by its own function's schema. With
 * `otherwise` the reply may be of that form instead.
 */
export function callConstraint(use: ToolUse, otherwise: Constraint | null = null): Constraint {
  const calls = { type: 'array', items: callItems(use), minItems: 1, maxItems: use.most };
  const $defs = Object.fromEntries(
    use.functions.flatMap(({ name, parameters }) =>
      hasReference(parameters) ? [[name, rebase(parameters, `#/$defs/${name}`)]] : [],
    ),
  );
  const definitions = Object.keys($defs).length > 0 ? { $defs } : {};
  if (otherwise === null) return { kind: 'json_schema', schema: { ...calls, ...definitions } };
  const answer =
    otherwise.kind === 'json_schema'
      ? (rebase(otherwise.schema, '#/$defs/answer') as Schema)
      : { type: 'object' };
  const schema = { anyOf: [calls, { $ref: '#/$defs/answer' }], $defs: { ...$defs, answer } };
  return { kind: 'json_schema', schema };
}

function callItems({ functions }: ToolUse): Schema {
  const items = functions.map(callItem);
  const [only] = items;
  return items.length === 1 && only ? only : { anyOf: items };
}

/** The name first: it is told before the arguments are there. */
function callItem({ name, parameters }: ToolFunction): Schema {
  return {
    type: 'object',
    properties: {
      name: { const: name },
      arguments: hasReference(parameters) ? { $ref: `#/$defs/${name}` } : parameters,
    },
    required: ['name', 'arguments'],
    additionalProperties: false,
  };
}

const hasReference = (schema: Schema): boolean => JSON.stringify(schema).includes('"$ref"');

/** References point from the root of a schema, which now lies deeper. */
function rebase(value: unknown, root: string): unknown {
  if (Array.isArray(value)) return value.map((item) => rebase(item, root));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) =>
      key === '$ref' && typeof inner === 'string' && inner.startsWith('#')
        ? [key, root + inner.slice(1)]
        : [key, rebase(inner, root)],
    ),
  );
}
