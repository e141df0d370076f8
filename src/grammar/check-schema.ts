import {
  describe,
  invalidField,
  isNumber,
  isObject,
  MAX_KEY,
  type ServiceError,
  shortened,
  writeJson,
} from '#base';
import type { Schema as AnySchema, SchemaObject as Schema } from './forms.ts';
import { type Child, children, SCHEMA_LISTS, SCHEMA_MAPS } from './schema-children.ts';
import { targetOf } from './schema-references.ts';

export { SCHEMA_MAPS } from './schema-children.ts';

const TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'];

const MAX_REFERENCE = 1024;

interface Node {
  schema: unknown;
  at: string;
  depth: number;
  /** References followed to this schema, the last one first. */
  via: { target: unknown; before: Node['via'] } | null;
}

/**
 * Checks that a value is a JSON Schema; the error names the place of the fault. `strict` adds the rules of
 * OpenAI's strict mode (every object closed, all of its properties required) and refuses large schemas, which
 * are loosened otherwise.
 * @throws ServiceError 400
 */
export function checkJsonSchema(
  root: Schema,
  param: string,
  strict: boolean,
  budget: SchemaBudget = new SchemaBudget(),
): void {
  let hasNames: boolean | undefined;
  /** Whether the rest is checked without its references. */
  let isLarge = false;
  // The grammar compiler resolves references by name.
  const leads = (value: unknown): boolean =>
    isLarge ||
    (typeof value === 'string' &&
      value.length <= MAX_REFERENCE &&
      (targetOf(value, root) !== undefined || (hasNames ??= /"\$(?:id|anchor)":/.test(writeJson(root)))));
  const read = (schema: Schema, at: string): Parts => {
    checkNode(schema, at, leads, strict);
    const { $ref } = schema;
    const target = $ref === undefined || isLarge ? undefined : targetOf(String($ref), root);
    return { children: [...children(schema)], target, literals: literalCharacters(schema) };
  };
  const open: Node[] = [{ schema: root, at: param, depth: 0, via: null }];
  const checked = new Map<Schema, Parts>();
  for (let node = open.pop(); node; node = open.pop()) {
    const { schema, at, depth } = node;
    isLarge ||= depth > MAX_DEPTH;
    if (depth > MAX_DEPTH && strict)
      throw invalidSchema(param, `is nested deeper than ${MAX_DEPTH} levels, references followed`);
    if (typeof schema === 'boolean') continue;
    if (!isObject(schema)) throw wrongValue(at, 'must be a schema (an object)', schema);
    const known = checked.get(schema);
    if (known && isLarge) continue;
    const parts = known ?? read(schema, at);
    checked.set(schema, parts);
    isLarge ||= !budget.takes(parts, at, strict);
    for (const child of parts.children)
      open.push({ schema: child.schema, at: `${at}.${child.at}`, depth: depth + 1, via: node.via });
    if (parts.target !== undefined) addTarget(node, parts.target, open);
  }
}

/** Contents of a schema, read once however many references lead to it. */
interface Parts {
  children: Child[];
  target: AnySchema | undefined;
  literals: number;
}

/** Adds the target of a reference. A reference may be recursive unless only references lie between. */
function addTarget({ at, depth, via }: Node, schema: unknown, open: Node[]): void {
  let onlyReferences = true;
  for (let each = via; each; each = each.before) {
    onlyReferences &&= isObject(each.target) && each.target['$ref'] !== undefined;
    if (each.target !== schema) continue;
    if (onlyReferences) throw invalidSchema(`${at}.$ref`, 'must not lead back to itself');
    return;
  }
  open.push({ schema, at: `${at}.$ref`, depth: depth + 1, via: { target: schema, before: via } });
}

function checkNode(schema: Schema, at: string, leads: (value: unknown) => boolean, strict: boolean): void {
  checkValues(schema, at);
  checkForms(schema, at);
  const { type, enum: values, required, properties, $ref } = schema;
  const unknown = (type === undefined ? [] : [type].flat()).find((name) => !TYPES.includes(name as string));
  if (unknown !== undefined) throw wrongValue(`${at}.type`, `must be one of ${TYPES.join(', ')}`, unknown);
  if (values !== undefined) requireList(values, `${at}.enum`);
  if (required !== undefined && !isStrings(required))
    throw invalidSchema(`${at}.required`, 'must be an array of property names');
  if ($ref !== undefined && !leads($ref)) {
    const rule = `must point into this schema (\`#/$defs/…\`), but ${describe($ref)} does not`;
    throw invalidSchema(`${at}.$ref`, rule);
  }
  if (!strict || !(type === 'object' || properties !== undefined)) return;
  if (schema['additionalProperties'] !== false) {
    const rule = 'must be false with `strict`: set it, or leave `strict` out';
    throw invalidSchema(`${at}.additionalProperties`, rule);
  }
  const needed = new Set(isStrings(required) ? required.filter(({ length }) => length <= MAX_KEY) : []);
  const optional = Object.keys(isObject(properties) ? properties : {}).find((key) => !needed.has(key));
  if (optional !== undefined) {
    const rule = `must name every property with \`strict\`, and lacks ${describe(optional)}`;
    throw invalidSchema(`${at}.required`, rule);
  }
}

function requireList(value: unknown, at: string): void {
  if (!Array.isArray(value) || value.length === 0)
    throw wrongValue(at, 'must be an array that is not empty', value);
}

const isSchema = (value: unknown): boolean => isObject(value) || typeof value === 'boolean';

const isStrings = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

/** Bounds of the schemas of a request together; the compiler of grammars has its own. */
const MAX_NODES = 2000;
const MAX_DEPTH = 32;
const MAX_LITERAL_CHARACTERS = 32_768;

/** What follows `min` and `max` in keywords. */
const BOUNDS = ['imum', 'Length', 'Items', 'Properties'];
const COUNT = 'an integer that is not negative';
const POSITIVE = 'a number above 0';
const COUNTS = /^(?:min|max)(?:Length|Items|Properties)$/;

/**
 * Types that keywords' values must have: a keyword with another value would not be enforced. Draft 4 has
 * booleans for exclusive bounds.
 */
const VALUES = new Map([
  ['minimum', 'a number'],
  ['maximum', 'a number'],
  ['exclusiveMinimum', 'a number or boolean'],
  ['exclusiveMaximum', 'a number or boolean'],
  ['multipleOf', POSITIVE],
  ['pattern', 'a string'],
  ['format', 'a string'],
  ['uniqueItems', 'a boolean'],
]);

export class SchemaBudget {
  #nodes = 0;
  #literals = 0;

  /**
   * Counts the parts of a schema, once for each reference to it.
   * @returns false if schemas that are not strict are too large to check further
   * @throws ServiceError 400 that names the place
   */
  takes({ children: { length }, target, literals }: Parts, at: string, strict: boolean): boolean {
    this.#nodes += target === undefined ? length : length + 1;
    this.#literals += literals;
    if (this.#nodes <= MAX_NODES && this.#literals <= MAX_LITERAL_CHARACTERS) return true;
    if (!strict) return false;
    const rule = `is too large: a request may have ${MAX_NODES} schemas, references followed, and ${MAX_LITERAL_CHARACTERS} characters of property names, enum and const values`;
    throw invalidSchema(at, rule);
  }
}

function checkForms(schema: Schema, at: string): void {
  if (Array.isArray(schema['type'])) requireList(schema['type'], `${at}.type`);
  for (const key of SCHEMA_MAPS)
    if (schema[key] !== undefined && !isObject(schema[key]))
      throw wrongValue(`${at}.${key}`, 'must be an object', schema[key]);
  for (const key of SCHEMA_LISTS) if (schema[key] !== undefined) requireList(schema[key], `${at}.${key}`);
}

function checkValues(schema: Schema, at: string): void {
  // Most schemas have a few of the keywords.
  for (const [key, value] of Object.entries(schema)) {
    const types = COUNTS.test(key) ? COUNT : VALUES.get(key);
    if (types !== undefined && value !== undefined && !isOf(types, value))
      throw wrongValue(`${at}.${key}`, `must be ${types}`, value);
  }
  for (const what of BOUNDS) checkOrder(schema, `min${what}`, `max${what}`, at);
  const { dependentRequired: lists = {}, dependencies = {} } = schema;
  if (!isObject(lists) || !Object.values(lists).every(isStrings))
    throw wrongValue(`${at}.dependentRequired`, 'must be an object of arrays of strings', lists);
  if (
    !isObject(dependencies) ||
    !Object.values(dependencies).every((each) => isSchema(each) || isStrings(each))
  )
    throw wrongValue(`${at}.dependencies`, 'must be an object of arrays of strings', dependencies);
}

function literalCharacters({ enum: values, const: constant, properties }: Schema): number {
  if (values === undefined && constant === undefined && properties === undefined) return 0;
  return writeJson([values, constant, isObject(properties) ? Object.keys(properties) : []]).length;
}

function isOf(types: string, value: unknown): boolean {
  if (types === COUNT) return isNumber(value) && Number.isInteger(Number(value)) && Number(value) >= 0;
  if (types === POSITIVE) return isNumber(value) && Number(value) > 0;
  return types.includes(isNumber(value) ? 'number' : typeof value);
}

function checkOrder(schema: Schema, low: string, high: string, at: string): void {
  const [least, most] = [schema[low], schema[high]];
  if (!isNumber(least) || !isNumber(most) || Number(least) <= Number(most)) return;
  throw wrongValue(`${at}.${low}`, `must be at most \`${high}\` (${writeJson(most)})`, least);
}

const wrongValue = (at: string, rule: string, value: unknown): ServiceError =>
  invalidSchema(at, `${rule}, but ${describe(value)} was given`);

const invalidSchema = (at: string, rule: string): ServiceError =>
  invalidField(shortened(at, 300), rule, 'invalid_json_schema');

/** Whether JavaScript can read an expression; without the flag `u`, more escapes are allowed. */
export const isRegExp = (pattern: string): boolean =>
  ['u', ''].some((flags) => {
    try {
      return new RegExp(pattern.replaceAll('(?P<', '(?<'), flags) instanceof RegExp;
    } catch {
      return false;
    }
  });
