import { describe } from './schema-issues.ts';
import { invalidRequest } from './service-error.ts';

const TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'];
const MAX_DEPTH = 64;
const MAX_NODES = 10_000;

const SCHEMA_MAPS = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'];
const SCHEMA_LISTS = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];
const SCHEMAS = ['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames'];

type Node = { schema: unknown; at: string; depth: number };
type Schema = Record<string, unknown>;

/**
 * Refuses a JSON Schema that no grammar could be made of, naming the place. `strict` also asks what OpenAI's strict
 * mode asks: every object closed, all of its properties required.
 * @throws ServiceError 400
 */
export function checkJsonSchema(root: Schema, param: string, strict: boolean): void {
  const open: Node[] = [{ schema: root, at: param, depth: 0 }];
  let nodes = 0;
  for (let node = open.pop(); node; node = open.pop()) {
    nodes += 1;
    if (node.depth > MAX_DEPTH) throw invalidSchema(param, `is nested deeper than ${MAX_DEPTH} levels`);
    if (nodes > MAX_NODES) throw invalidSchema(param, `has more than ${MAX_NODES} parts`);
    if (typeof node.schema === 'boolean') continue;
    if (!isObject(node.schema)) {
      throw invalidSchema(node.at, `must be a schema (an object), but ${describe(node.schema)} was given`);
    }
    checkNode(node.schema, node.at, root, strict);
    open.push(...children(node.schema, node.at, node.depth + 1));
  }
}

function checkNode(schema: Schema, at: string, root: Schema, strict: boolean): void {
  const { type, enum: values, required, properties, $ref } = schema;
  for (const name of type === undefined ? [] : [type].flat()) {
    if (!TYPES.includes(name as string)) {
      throw invalidSchema(
        `${at}.type`,
        `must be one of ${TYPES.join(', ')}, but ${describe(name)} was given`,
      );
    }
  }
  if (values !== undefined && !(Array.isArray(values) && values.length > 0)) {
    throw invalidSchema(
      `${at}.enum`,
      `must be an array that is not empty, but ${describe(values)} was given`,
    );
  }
  if (required !== undefined && !isStrings(required)) {
    throw invalidSchema(`${at}.required`, 'must be an array of property names');
  }
  if ($ref !== undefined && !(typeof $ref === 'string' && resolves($ref, root))) {
    throw invalidSchema(
      `${at}.$ref`,
      `must point into this schema (\`#/$defs/…\`), but ${describe($ref)} does not`,
    );
  }
  if (!strict || !(type === 'object' || properties !== undefined)) return;
  if (schema['additionalProperties'] !== false) {
    throw invalidSchema(
      `${at}.additionalProperties`,
      'must be false with `strict`: set it, or leave `strict` out',
    );
  }
  const optional = Object.keys(isObject(properties) ? properties : {}).find(
    (key) => !(isStrings(required) && required.includes(key)),
  );
  if (optional !== undefined) {
    throw invalidSchema(
      `${at}.required`,
      `must name every property with \`strict\`, and lacks ${describe(optional)}`,
    );
  }
}

function children(schema: Schema, at: string, depth: number): Node[] {
  const nodes: Node[] = [];
  for (const key of SCHEMA_MAPS) {
    const map = schema[key];
    if (map === undefined) continue;
    if (!isObject(map))
      throw invalidSchema(`${at}.${key}`, `must be an object, but ${describe(map)} was given`);
    for (const [name, child] of Object.entries(map))
      nodes.push({ schema: child, at: `${at}.${key}.${name}`, depth });
  }
  for (const key of SCHEMA_LISTS) {
    const list = schema[key];
    if (list === undefined) continue;
    if (!Array.isArray(list) || list.length === 0) {
      throw invalidSchema(
        `${at}.${key}`,
        `must be an array that is not empty, but ${describe(list)} was given`,
      );
    }
    nodes.push(...list.map((child, index) => ({ schema: child, at: `${at}.${key}[${index}]`, depth })));
  }
  for (const key of SCHEMAS) {
    if (schema[key] !== undefined) nodes.push({ schema: schema[key], at: `${at}.${key}`, depth });
  }
  return nodes;
}

function resolves(reference: string, root: Schema): boolean {
  if (reference === '#') return true;
  if (!reference.startsWith('#/')) return false;
  let value: unknown = root;
  for (const part of reference.slice(2).split('/')) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return false;
    value = (value as Schema)[key];
  }
  return isObject(value) || typeof value === 'boolean';
}

const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isStrings = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

const invalidSchema = (param: string, rule: string) =>
  invalidRequest(param, `\`${param}\` ${rule}.`, 'invalid_json_schema');
