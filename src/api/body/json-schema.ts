import { describe, shortened } from './schema-issues.ts';
import { invalidField, type ServiceError } from '../../errors/service-error.ts';

const TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'];

const MAX_REFERENCE = 1024;

const SCHEMA_MAPS = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'];
const SCHEMA_LISTS = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];
const SCHEMAS = ['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames'];

interface Node {
  schema: unknown;
  at: string;
  depth: number;
  /** The references followed to get here, the last one first. */
  via: { target: unknown; before: Node['via'] } | null;
}

/**
 * Refuses a JSON Schema that cannot become a grammar, or only a large one, and names the place. `strict` adds the rules
 * of OpenAI's strict mode: every object closed, all of its properties required.
 * @throws ServiceError 400
 */
export function checkJsonSchema(
  root: Schema,
  param: string,
  strict: boolean,
  budget: SchemaBudget = new SchemaBudget(),
): void {
  const open: Node[] = [{ schema: root, at: param, depth: 0, via: null }];
  for (let node = open.pop(); node; node = open.pop()) {
    const { schema, at, depth } = node;
    if (depth > MAX_DEPTH)
      throw invalidSchema(param, `is nested deeper than ${MAX_DEPTH} levels, references followed`);
    if (typeof schema === 'boolean') continue;
    if (!isObject(schema)) throw wrongValue(at, 'must be a schema (an object)', schema);
    budget.add(schema, at);
    checkNode(schema, at, root, strict);
    addChildren(node, schema, open);
    if (schema['$ref'] !== undefined) addTarget(node, target(String(schema['$ref']), root), open);
  }
}

/** A reference may lead back to an earlier schema (a recursive rule), if there is more than references between them. */
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

function checkNode(schema: Schema, at: string, root: Schema, strict: boolean): void {
  const { type, enum: values, required, properties, $ref } = schema;
  const unknown = (type === undefined ? [] : [type].flat()).find((name) => !TYPES.includes(name as string));
  if (unknown !== undefined) throw wrongValue(`${at}.type`, `must be one of ${TYPES.join(', ')}`, unknown);
  if (values !== undefined) requireList(values, `${at}.enum`);
  if (required !== undefined && !isStrings(required)) {
    throw invalidSchema(`${at}.required`, 'must be an array of property names');
  }
  if ($ref !== undefined && !isReference($ref, root)) {
    const rule = `must point into this schema (\`#/$defs/…\`), but ${describe($ref)} does not`;
    throw invalidSchema(`${at}.$ref`, rule);
  }
  if (!strict || !(type === 'object' || properties !== undefined)) return;
  if (schema['additionalProperties'] !== false) {
    const rule = 'must be false with `strict`: set it, or leave `strict` out';
    throw invalidSchema(`${at}.additionalProperties`, rule);
  }
  const needed = new Set(isStrings(required) ? required : []);
  const optional = Object.keys(isObject(properties) ? properties : {}).find((key) => !needed.has(key));
  if (optional !== undefined) {
    const rule = `must name every property with \`strict\`, and lacks ${describe(optional)}`;
    throw invalidSchema(`${at}.required`, rule);
  }
}

const isReference = (value: unknown, root: Schema): boolean =>
  typeof value === 'string' && value.length <= MAX_REFERENCE && target(value, root) !== undefined;

function requireList(value: unknown, at: string): unknown[] {
  if (Array.isArray(value) && value.length > 0) return value;
  throw wrongValue(at, 'must be an array that is not empty', value);
}

function addChildren({ at, depth, via }: Node, schema: Schema, open: Node[]): void {
  const add = (child: unknown, where: string): void => {
    open.push({ schema: child, at: `${at}.${where}`, depth: depth + 1, via });
  };
  for (const key of SCHEMA_MAPS) {
    const map = schema[key];
    if (map === undefined) continue;
    if (!isObject(map)) throw wrongValue(`${at}.${key}`, 'must be an object', map);
    for (const [name, child] of Object.entries(map)) add(child, `${key}.${name}`);
  }
  for (const key of SCHEMA_LISTS) {
    if (schema[key] === undefined) continue;
    const list = requireList(schema[key], `${at}.${key}`);
    for (const [index, child] of list.entries()) add(child, `${key}[${index}]`);
  }
  for (const key of SCHEMAS) {
    if (schema[key] !== undefined) add(schema[key], key);
  }
}

/** Undefined: it does not point into the schema. */
function target(reference: string, root: Schema): unknown {
  if (reference === '#') return root;
  if (!reference.startsWith('#/')) return undefined;
  let value: unknown = root;
  for (const key of pointerKeys(reference)) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Schema)[key];
  }
  return isObject(value) || typeof value === 'boolean' ? value : undefined;
}

/** The keys of a JSON pointer in a URL fragment. A `%` that begins no escape is taken as it is. */
function pointerKeys(reference: string): string[] {
  let pointer = reference.slice(1);
  try {
    pointer = decodeURIComponent(pointer);
  } catch {}
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

const isStrings = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

export type Schema = Record<string, unknown>;

/**
 * What a grammar of these sizes costs an engine: docs/decisions/tools-and-schemas.md. Each schema of a request draws on one
 * budget.
 */
const MAX_NODES = 2000;
const MAX_DEPTH = 32;
const MAX_LITERAL_CHARACTERS = 32_768;
const MAX_NAME_CHARACTERS = 256;
const MAX_ALTERNATIVES = 256;
const MAX_PROPERTIES = 256;
const MAX_OPTIONAL = 64;
const MAX_REPEATS = 1000;
const MAX_PATTERN_CHARACTERS = 256;

/** Lengths and counts: grammars have a rule for each repetition. */
const REPEATS = [
  ['minLength', 'maxLength'],
  ['minItems', 'maxItems'],
  ['minProperties', 'maxProperties'],
] as const;

/** Every element is tried for each token. */
const LISTS = ['enum', 'anyOf', 'oneOf', 'allOf', 'prefixItems', 'type'];

export class SchemaBudget {
  #nodes = 0;
  #literals = 0;

  /** One schema, as often as references lead to it. @throws ServiceError 400 that names the place */
  add(schema: Schema, at: string): void {
    this.#nodes++;
    if (this.#nodes > MAX_NODES) {
      const rule = `is more than the ${MAX_NODES} schemas that a request may have, references followed`;
      throw invalidSchema(at, rule);
    }
    for (const key of LISTS) {
      const list = schema[key];
      if (Array.isArray(list)) requireAtMost(MAX_ALTERNATIVES, list.length, 'elements', `${at}.${key}`);
    }
    checkProperties(schema, at);
    this.#addLiterals(schema, at);
    for (const [low, high] of REPEATS) {
      checkRepeats(schema, low, at);
      checkRepeats(schema, high, at);
      checkOrder(schema, low, high, at);
    }
    checkOrder(schema, 'minimum', 'maximum', at);
    checkPattern(schema, at);
  }

  #addLiterals({ enum: values, const: constant, properties }: Schema, at: string): void {
    if (values === undefined && constant === undefined && properties === undefined) return;
    const names = isObject(properties) ? Object.keys(properties) : [];
    const long = names.find((name) => name.length > MAX_NAME_CHARACTERS);
    if (long !== undefined) {
      const rule = `may have names of ${MAX_NAME_CHARACTERS} characters, and ${describe(long)} is longer`;
      throw invalidSchema(`${at}.properties`, rule);
    }
    this.#literals += JSON.stringify([values, constant, names]).length;
    if (this.#literals <= MAX_LITERAL_CHARACTERS) return;
    const rule = `is too large: a request may have ${MAX_LITERAL_CHARACTERS} characters of property names, enum and const values`;
    throw invalidSchema(at, rule);
  }
}

/** Each optional property may be followed by each one after it. */
function checkProperties({ properties, required }: Schema, at: string): void {
  if (!isObject(properties)) return;
  const names = Object.keys(properties);
  const param = `${at}.properties`;
  requireAtMost(MAX_PROPERTIES, names.length, 'members', param);
  const needed = new Set<unknown>(Array.isArray(required) ? required : []);
  const optional = names.filter((name) => !needed.has(name)).length;
  requireAtMost(MAX_OPTIONAL, optional, 'optional members', param, ': name more of them in `required`');
}

function checkRepeats(schema: Schema, key: string, at: string): void {
  const value = schema[key];
  if (value === undefined) return;
  if (Number.isInteger(value) && Number(value) >= 0 && Number(value) <= MAX_REPEATS) return;
  throw wrongValue(`${at}.${key}`, `must be an integer from 0 to ${MAX_REPEATS}`, value);
}

/** No text would match, and the engine would generate until the context is full. */
function checkOrder(schema: Schema, low: string, high: string, at: string): void {
  const [least, most] = [schema[low], schema[high]];
  if (typeof least !== 'number' || typeof most !== 'number' || least <= most) return;
  throw wrongValue(`${at}.${low}`, `must be at most \`${high}\` (${most})`, least);
}

function checkPattern({ pattern }: Schema, at: string): void {
  if (pattern === undefined) return;
  const param = `${at}.pattern`;
  if (typeof pattern !== 'string') throw wrongValue(param, 'must be a string', pattern);
  requireAtMost(MAX_PATTERN_CHARACTERS, pattern.length, 'characters', param);
  // Repetitions within each other multiply.
  const counts = [...pattern.matchAll(/\{(\d*)(?:,(\d*))?\}/g)].map(([, least, most]) =>
    Number(most || least || 1),
  );
  if (counts.reduce((product, count) => product * Math.max(1, count), 1) <= MAX_REPEATS) return;
  throw invalidSchema(param, `must repeat at most ${MAX_REPEATS} times, its repetitions multiplied`);
}

const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function requireAtMost(maximum: number, count: number, noun: string, at: string, hint = ''): void {
  if (count > maximum)
    throw invalidSchema(at, `must have at most ${maximum} ${noun}, but has ${count}${hint}`);
}

const wrongValue = (at: string, rule: string, given: unknown): ServiceError =>
  invalidSchema(at, `${rule}, but ${describe(given)} was given`);

const invalidSchema = (at: string, rule: string): ServiceError =>
  invalidField(shortened(at, 300), rule, 'invalid_json_schema');
