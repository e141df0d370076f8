import type { Random } from '../../chaos/random.ts';

type Schema = Record<string, unknown>;

const PATTERNS = [
  String.raw`^\d{4}$`,
  '^[^A-Z]*$',
  String.raw`^\w+@\w+\.com$`,
  '^(?:a|b|^c)d?$',
  String.raw`^(foo|bar)-[a-f0-9]{2,4}$|^none$`,
  'needle',
  '^start',
  'end$',
  '^.{3,8}$',
  String.raw`^[\p{Lu}\d_]{1,5}$`,
  String.raw`^"quoted\\text"$`,
  '^(?=.*[A-Z])(?=.*[0-9])[A-Za-z0-9]{6,9}$',
  '^(?!admin)[a-z]{3,8}$',
  String.raw`^[\s\S]{2,6}$`,
  String.raw`^\u00e9+\x41?[^\n"]{1,4}$`,
  '^😀{1,3}$',
  String.raw`^(([a-z]{2}){1,3}-)*x$`,
];
const FORMATS =
  'date time date-time duration email hostname ipv4 ipv6 uri uuid url uri-reference json-pointer byte'.split(
    ' ',
  );

/** Recursive definitions, which a reference reaches from the root alone. */
const definitions: Schema = {};

/** A schema that has values, of keywords that are enforced. */
export function randomSchema(random: Random): Schema {
  const schema = part(random, 3);
  const $defs = { ...definitions };
  for (const name of Object.keys(definitions)) delete definitions[name];
  return Object.keys($defs).length > 0 ? { ...schema, $defs } : schema;
}

function part(random: Random, depth: number): Schema {
  const kinds = depth > 0 ? KINDS : KINDS.slice(0, LEAVES);
  return random.pick(kinds)(random, depth - 1);
}

const chance = (random: Random, of: number): boolean => random.below(of) === 0;
const several = <Value>(random: Random, most: number, make: (index: number) => Value): Value[] =>
  Array.from({ length: 1 + random.below(most) }, (_, index) => make(index));
const nameOf = (index: number): string =>
  ['name', 'a b', 'ключ', 'x"y', 'n\\e', 'deep', 'id', 'tag'][index % 8] ?? '';

const KINDS: ((random: Random, depth: number) => Schema)[] = [
  () => ({ type: 'boolean' }),
  () => ({ type: 'integer', format: 'int32' }),
  () => ({ type: ['string', 'null'] }),
  (random) => ({ type: 'string', minLength: random.below(4), maxLength: 4 + random.below(6) }),
  (random) => ({ type: 'string', pattern: random.pick(PATTERNS) }),
  (random) => ({ type: 'string', format: random.pick(FORMATS) }),
  (random) => ({
    type: 'string',
    pattern: random.pick(['^[a-z]+$', '^[^x]*$', 'b']),
    minLength: 2,
    maxLength: 9,
  }),
  () => ({ allOf: [{ type: 'string', pattern: '^[a-f]+$' }, { pattern: 'ab' }] }),
  (random) => ({
    enum: several(random, 5, (index) => random.pick([index, `v${index}`, null, [index], { a: 1 }])),
  }),
  (random) => ({ const: random.pick(['a "b"', 3, { x: [1, null] }, true, 'é\n']) }),
  number,
  (random) => ({
    type: 'integer',
    multipleOf: random.pick([1, 2, 3, 7, 10, 50]),
    minimum: -40,
    maximum: 400,
  }),
  (random) => ({ type: 'number', multipleOf: random.pick([0.5, 0.25, 0.01, 5]) }),
  // With schemas inside.
  object,
  object,
  (random, depth) => ({
    type: 'array',
    items: part(random, depth),
    minItems: random.below(3),
    maxItems: 2 + random.below(3),
  }),
  (random, depth) => ({
    type: 'array',
    prefixItems: several(random, 3, () => part(random, depth)),
    items: chance(random, 2) ? false : part(random, depth),
  }),
  () => ({ type: 'array', items: { enum: ['r', 'g', 'b', 1] }, uniqueItems: true, minItems: 2 }),
  (random, depth) => ({ anyOf: several(random, 3, () => part(random, depth)) }),
  (random, depth) => ({
    oneOf: several(random, 3, (index) => ({
      type: 'object',
      properties: { kind: { const: `k${index}` }, value: part(random, depth) },
      required: ['kind'],
      additionalProperties: false,
    })),
  }),
  () => ({
    oneOf: [
      { type: 'integer', maximum: 10 },
      { type: 'integer', minimum: 11 },
    ],
  }),
  (random, depth) => {
    const { properties, required = [] } = object(random, depth);
    const extra = { type: 'object', properties: { extra: part(random, 0) }, required: ['extra'] };
    return { allOf: [{ type: 'object', properties, required }, extra] };
  },
  (random, depth) => ({
    type: 'object',
    patternProperties: { '^n_': { type: 'integer' }, '^s': part(random, depth) },
    additionalProperties: chance(random, 2) ? false : { type: 'boolean' },
  }),
  (random, depth) => ({
    type: 'object',
    additionalProperties: part(random, depth),
    propertyNames: random.pick<Schema>([
      { pattern: '^[a-z]{1,4}$' },
      { enum: ['x', 'yy'] },
      { maxLength: 3 },
    ]),
    ...(chance(random, 2) && { minProperties: 1 }),
    maxProperties: 1 + random.below(4),
  }),
  (random, depth) => {
    const name = `node ${Object.keys(definitions).length}`;
    const own = { $ref: `#/$defs/${encodeURIComponent(name)}` };
    definitions[name] = {};
    definitions[name] = {
      type: 'object',
      properties: { value: part(random, depth), next: { anyOf: [own, { type: 'null' }] } },
      required: ['value', 'next'],
      additionalProperties: false,
    };
    return own;
  },
  (random, depth) => ({
    type: 'object',
    properties: { a: part(random, depth), b: { type: 'integer' }, c: { type: 'null' } },
    dependentRequired: { a: ['b'] },
    ...(chance(random, 2) && { minProperties: 1 }),
  }),
];
const LEAVES = 15;

function number(random: Random): Schema {
  const low = random.below(2000) / random.pick([1, 1, 10, 1000]) - random.pick([0, 0, 500]);
  const high = low + random.pick([0.5, 3, 77, 12_345]);
  const [lower, upper] = [
    random.pick(['minimum', 'exclusiveMinimum']),
    random.pick(['maximum', 'exclusiveMaximum']),
  ];
  const both = { [lower]: low, [upper]: high };
  const { [random.pick([lower, upper])]: _, ...half } = both;
  const type = high - low < 3 ? 'number' : random.pick(['number', 'integer']);
  return { type, ...(chance(random, 3) ? half : both) };
}

function object(random: Random, depth: number): Schema {
  const members = several(random, 5, (index) => [nameOf(index), part(random, depth)] as const);
  const required = members.map(([name]) => name).filter(() => !chance(random, 3));
  const properties = Object.fromEntries(members);
  return {
    type: 'object',
    properties,
    ...(required.length > 0 && { required }),
    ...(chance(random, 2) && {
      additionalProperties: random.pick<unknown>([false, true, { type: 'integer' }]),
    }),
    ...random.pick<Schema>([
      {},
      {},
      { minProperties: Math.min(Object.keys(properties).length, required.length + 1) },
      { maxProperties: Math.max(1, required.length) },
    ]),
  };
}
