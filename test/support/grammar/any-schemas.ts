import type { Random } from '../../chaos/random.ts';

type Schema = Record<string, unknown>;
type Make = (random: Random, depth: number) => unknown;

/** A schema of keywords and values that are put together at random: many have no values, or cannot be enforced. */
export function anySchema(random: Random, depth = 2): Schema {
  const schema: Schema = {};
  if (random.below(3) > 0) schema['type'] = typeOf(random, depth);
  for (let left = 1 + random.below(4); left > 0; left--) {
    const [keyword, make] = random.pick(Object.entries(KEYWORDS));
    schema[keyword] = make(random, depth);
  }
  // Listed values are taken to be right, whatever the format.
  if ('enum' in schema || 'const' in schema) delete schema['format'];
  return schema;
}

const part: Make = (random, depth) =>
  depth <= 0 || random.below(6) === 0
    ? random.pick<unknown>([
        true,
        false,
        {},
        { type: 'string' },
        { type: 'integer' },
        { const: 1 },
        { enum: ['a', 2, null] },
      ])
    : anySchema(random, depth - 1);
const several = <Value>(random: Random, make: () => Value): Value[] =>
  Array.from({ length: 1 + random.below(3) }, make);
const parts: Make = (random, depth) => several(random, () => part(random, depth));
const map = (random: Random, depth: number, names: string[]): Schema =>
  Object.fromEntries(several(random, () => [random.pick(names), part(random, depth)]));
const oneOf =
  (values: readonly unknown[]): Make =>
  (random) =>
    random.pick(values);

const NAMES = ['a', 'b', 'c', 'dd', 'x"y', '$ref', 'const', 'é'];
const members: Make = (random, depth) => map(random, depth, NAMES);
const bound = oneOf([0, 1, 2, 3, 5, -1, -7, 0.5, 1.25, 100, 1e6]);
const count = oneOf([0, 1, 1, 2, 2, 3, 4]);
const typeOf = oneOf([
  ...'string number integer boolean null array object object array'.split(' '),
  ['string', 'null'],
  ['integer', 'object'],
  ['array', 'boolean'],
  ['number', 'integer'],
]);

const KEYWORDS: Record<string, Make> = {
  type: typeOf,
  enum: (random) => [
    random.pick<unknown>(['a', 1, null, true, [1], { a: 1 }, 'abc', 2.5, -3]),
    random.pick<unknown>(['b', 2, false, [], {}]),
  ],
  const: oneOf(['a', 1, null, true, [1], { a: 1 }, 'abc', 'é\n', 0, -0.5]),
  minimum: bound,
  maximum: bound,
  exclusiveMinimum: bound,
  exclusiveMaximum: bound,
  multipleOf: oneOf([1, 2, 3, 0.5, 0.1, 10, 7]),
  minLength: count,
  maxLength: count,
  minItems: count,
  maxItems: count,
  minProperties: count,
  maxProperties: count,
  pattern: oneOf(
    String.raw`^a b$ ^[a-c]+$ \d ^.{2}$ ^(?!a) x|y ^$ [^\s]+ ^\S+$ ^\W a{2,} ^[\w.-]+$ (?<n>a)b`.split(' '),
  ),
  format: oneOf(
    [
      'date time email ipv4 ipv6 uuid uri hostname date-time duration regex json-pointer uri-template',
      'relative-json-pointer iso-time int32 int64 float double password byte',
    ].flatMap((names) => names.split(' ')),
  ),
  items: part,
  additionalItems: part,
  prefixItems: parts,
  uniqueItems: () => true,
  properties: members,
  additionalProperties: part,
  propertyNames: part,
  patternProperties: (random, depth) => map(random, depth, ['^a', 'b$', '.', '^[A-Z]', '']),
  required: (random) => [...new Set([random.pick(NAMES), random.pick(NAMES)])],
  dependentRequired: (random) => ({ [random.pick(NAMES)]: [random.pick(NAMES)] }),
  dependencies: (random) => ({ [random.pick(NAMES)]: [random.pick(NAMES)] }),
  allOf: parts,
  anyOf: parts,
  oneOf: parts,
  not: part,
};
