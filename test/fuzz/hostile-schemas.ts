import type { Random } from '../chaos/random.ts';

type Schema = Record<string, unknown>;

const numbered = <Value>(count: number, value: (index: number) => Value): Value[] =>
  Array.from({ length: count }, (_, index) => value(index));
const properties = (count: number, schema: unknown): Schema =>
  Object.fromEntries(numbered(count, (index) => [`property ${index}`, schema]));

function chain(depth: number): Schema {
  let schema: Schema = { type: 'boolean' };
  for (let level = 0; level < depth; level++)
    schema = { type: 'object', properties: { a: schema }, required: ['a'] };
  return schema;
}

function doubling(depth: number): Schema {
  const pair = (index: number): Schema => {
    const next = { $ref: `#/$defs/d${index + 1}` };
    return index === depth ? { type: 'null' } : { type: 'object', properties: { a: next, b: next } };
  };
  return { $ref: '#/$defs/d0', $defs: Object.fromEntries(numbered(depth + 1, (i) => [`d${i}`, pair(i)])) };
}

const ideograph = (index: number): string => String.fromCodePoint(0x4e00 + index);
const ideographs = (count: number, first = 0): string =>
  numbered(count, (index) => ideograph(first + index)).join('');
const SCRIPTS =
  'Adlm Aghb Ahom Arab Armi Armn Avst Bali Bamu Bass Batk Beng Bhks Bopo Brah Brai Bugi Buhd Cakm Cans Cari Cham Cher Copt Cprt Cyrl Deva Dogr Dsrt Dupl Egyp Elba Ethi Geor Glag Gong Gonm Goth Gran Grek Gujr Guru Hang Hani Hano Hatr Hebr Hira'.split(
    ' ',
  );

const SIZES = [1, 16, 64, 65, 256, 257, 1000, 10_000];
const DEPTHS = [3, 8, 20, 30, 31, 40, 90];
/** Those of a tool are part of the prompt, and computed: they are short, or refused, as a body of more than 200 levels. */
const TOOL_SIZES = [1, 2, 60, 40_000];
const TOOL_DEPTHS = [2, 8, 30];

/** A schema on either side of a bound, or of no meaning at all. */
export function hostileSchema(random: Random, forTool = false): Schema {
  const size = random.pick(forTool ? TOOL_SIZES : SIZES);
  const depth = random.pick(forTool ? TOOL_DEPTHS : DEPTHS);
  const inner = (): Schema => (random.below(2) === 0 ? { type: 'string' } : hostileSchema(random, forTool));
  switch (random.below(23)) {
    case 0:
      return { enum: numbered(size, (index) => `value ${index}`) };
    case 1:
      return { [random.pick(['anyOf', 'oneOf', 'allOf'])]: numbered(size, (index) => ({ const: index })) };
    case 2:
      return { type: 'object', properties: properties(size, { type: 'string' }) };
    case 3:
      return {
        type: 'object',
        properties: properties(size, {}),
        required: Object.keys(properties(size, {})),
      };
    case 4:
      return doubling(depth);
    case 5:
      return chain(depth);
    case 6:
      return { type: 'string', minLength: random.pick(SIZES), maxLength: random.pick(SIZES) };
    case 7:
      return { type: 'array', items: inner(), minItems: random.pick(SIZES), maxItems: random.pick(SIZES) };
    case 8:
      return { type: 'integer', minimum: random.pick([-1e308, 0, 5]), maximum: random.pick([-5, 1, 1e308]) };
    case 9:
      return {
        type: 'string',
        pattern: random.pick([
          '^(((((',
          '[',
          `^(a{1,${size}}){1,${size}}$`,
          '^((a*)*)*$',
          '(?<=a)b',
          '\\p{L}+',
          '^$',
        ]),
      };
    case 10:
      return {
        $ref: random.pick(['#', '#/$defs/none', 'https://example.com/a', `#/${'a/'.repeat(size)}`, '']),
      };
    case 11:
      return { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } };
    case 12:
      return { const: random.pick([null, 'c'.repeat(size), [], {}, 1e308]) };
    case 13:
      return { type: 'object', properties: { ['n'.repeat(size)]: inner() }, required: ['n'.repeat(size)] };
    case 14:
      return {
        type: random.pick([['string', 'null'], [], 'nothing', 7]),
        format: random.pick(['date', 'uuid', '', 7]),
      };
    case 15:
      return { enum: random.pick([[ideographs(size), ideographs(size, size)], numbered(size, ideograph)]) };
    case 16:
      return { allOf: [0, 1].map((first) => ({ enum: numbered(size, (index) => ({ a: index + first })) })) };
    case 17: {
      const each = { contains: inner(), minContains: size * depth ** 3 };
      return { type: 'array', allOf: numbered(random.pick([1, 8, 300]), () => each) };
    }
    case 18:
      return { type: 'string', pattern: `^[${SCRIPTS.slice(0, size).map((name) => `\\p{sc=${name}}`)}]+$` };
    case 19:
      return hostileNames(random, forTool);
    case 20:
      return {
        properties: { ['n'.repeat(20 * size)]: { properties: properties(size, { format: 'none' }) } },
      };
    case 21:
      return hostileTarget(random, size, random.pick(forTool ? [2] : [2, 60, 1900]));
    default:
      return { not: inner(), if: inner(), patternProperties: { '^a': inner() }, items: inner() };
  }
}

/** Names, references to them, and how many and how long they are. */
function hostileNames(random: Random, forTool: boolean): Schema {
  const name = 'a'.repeat(
    random.pick(forTool ? [1, 1000, 2_000_000] : [1, 1000, 17_000, 200_000, 2_000_000]),
  );
  const count = Math.min(random.pick(forTool ? TOOL_SIZES : SIZES), 20_000_000 / name.length);
  const $ref = random.pick(['#', '#/x', '#a', `#${name}`, name]);
  const reference = { $ref };
  return {
    $id: random.pick([name, `https://a/${name}`]),
    $defs: { [name]: { $anchor: random.pick(['a', name]) } },
    anyOf: numbered(count, () => ({ ...reference })),
  };
}

/** A schema that has much, referred to many times. */
function hostileTarget(random: Random, count: number, references: number): Schema {
  const size = 4 * count;
  const members = (value: unknown): Schema => properties(size, value);
  const parts = {
    properties: members(true),
    patternProperties: members(true),
    $defs: members(false),
    dependencies: members(['a']),
    dependentRequired: members(['a']),
    required: Object.keys(members(true)),
    type: numbered(size, () => 'string'),
    enum: numbered(size, String),
    anyOf: numbered(size, () => true),
    prefixItems: numbered(size, () => ({})),
  };
  const x = Object.fromEntries([random.pick(Object.entries(parts))]);
  return { allOf: numbered(references, () => ({ $ref: '#/$defs/x' })), $defs: { x } };
}

const ATOMS = ['a', '.', '[ab]', '[^a]', String.raw`\w`, 'b?'];
const COUNTS = [0, 1, 2, 5, 20, 64, 100, 256, 1000, 5000];

/** A regular expression whose repetitions, alternatives and look-aheads are within each other. */
export function hostilePattern(random: Random): string {
  const nested = sequence(random, 3);
  return random.pick(['', '^']) + nested + random.pick(['', '$']);
}

const sequence = (random: Random, depth: number): string =>
  numbered(1 + random.below(4), () => element(random, depth)).join('');

function element(random: Random, depth: number): string {
  const kind = depth === 0 ? 0 : random.below(6);
  if (kind < 2) return random.pick(ATOMS) + (kind === 0 ? '' : '*');
  const inner = sequence(random, depth - 1);
  if (kind === 2) return `(${random.pick(['?=', '?!'])}${inner})`;
  const group = kind === 3 ? `(${inner}|${sequence(random, depth - 1)})` : `(${inner})`;
  const [least, most] = [random.pick(COUNTS), random.pick(COUNTS)].toSorted((a, b) => a - b);
  return group + random.pick(['', '*', `{${least},${most}}`, `{${least},}`, `{${most}}`]);
}
