import { describe, expect, test } from 'vitest';

import { checkJsonSchema } from '../../../src/grammar/check-schema.ts';
import { callConstraint } from '../../../src/service/tools/call-constraint.ts';
import type { Constraint } from '../../../src/jobs/chat.ts';
import { ServiceError } from '../../../src/base/errors/service-error.ts';
import { compileSchema } from '../../../src/grammar/compile-schema.ts';
import { Languages } from '../../../src/grammar/language.ts';
import { withPointers } from '../../../src/grammar/schema-references.ts';
import { Random } from '../../chaos/random.ts';
import { anySchema } from '../../support/grammar/any-schemas.ts';
import { randomSchema } from '../../support/grammar/random-schemas.ts';
import { GbnfSampler } from '../../support/grammar/sample-gbnf.ts';
import { validator } from '../../support/grammar/validate.ts';

type Schema = Record<string, unknown>;
type JsonConstraint = Extract<Constraint, { kind: 'json_schema' }>;

const SEED = 20_261_125;
const SCHEMAS = 100;
const DRAWS = 10;

const compile = (schema: Schema, strict = true) =>
  compileSchema(JSON.stringify(schema), { param: 'schema', strict });

function draws(schema: Schema, random: Random, count: number, strict = true): string[] {
  const sampler = new GbnfSampler(compile(schema, strict).gbnf);
  return Array.from({ length: count }, () => sampler.draw(random)).filter((text) => text !== null);
}

/** Ideographs that differ. */
const ideographs = (from: number, to: number): string =>
  String.fromCodePoint(...Array.from({ length: to - from }, (_, index) => 0x4e00 + from + index));

/** The first text of a grammar that its schema does not allow. */
function invalidDraw(schema: Schema, random: Random, count: number): { drawn: number; fault: string | null } {
  const texts = draws(schema, random, count);
  const faultOf = validator(schema);
  const text = texts.find((drawn) => faultOf(drawn) !== null);
  return { drawn: texts.length, fault: text === undefined ? null : `${text}: ${faultOf(text)}` };
}

test(`what the grammars of ${SCHEMAS} generated schemas allow is valid`, { timeout: 240_000 }, () => {
  const random = new Random(SEED);
  const faults: object[] = [];
  let total = 0;
  for (let index = 0; index < SCHEMAS; index++) {
    const schema = randomSchema(random);
    const { drawn, fault } = invalidDraw(schema, random, DRAWS);
    total += drawn;
    if (fault !== null) faults.push({ index, fault, schema: JSON.stringify(schema) });
  }
  expect(faults).toEqual([]);
  expect(total).toBeGreaterThan(SCHEMAS * DRAWS * 0.9);
});

test(
  `of ${SCHEMAS} schemas of keywords at random, each is enforced or refused by a place`,
  { timeout: 240_000 },
  () => {
    const random = new Random(SEED);
    const faults: object[] = [];
    let enforced = 0;
    for (let index = 0; index < SCHEMAS; index++) {
      const schema = anySchema(random);
      try {
        checkJsonSchema(schema, 'schema', false);
        const { drawn, fault } = invalidDraw(schema, random, 10);
        if (fault !== null) faults.push({ index, fault, schema: JSON.stringify(schema) });
        if (drawn > 0) enforced++;
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        expect(error.wire).toMatchObject({ status: 400, code: 'invalid_json_schema' });
      }
    }
    expect(faults).toEqual([]);
    expect(enforced).toBeGreaterThan(SCHEMAS / 3);
  },
);

/** Parts of a branch, one of each kind of keyword. */
const PARTS: Record<string, Schema> = {
  format: { at: { type: 'string', format: 'date-time' } },
  pattern: { at: { type: 'string', pattern: '^[a-z]{2}$' } },
  'uniqueItems of an enum': { at: { type: 'array', items: { enum: ['a', 'b'] }, uniqueItems: true } },
  'a map': { at: { type: 'object', additionalProperties: { type: 'integer' } } },
  'names of a map': { at: { type: 'object', propertyNames: { maxLength: 3 }, maxProperties: 2 } },
  'a tuple': {
    at: { type: 'array', prefixItems: [{ type: 'number' }, { type: 'string' }], minItems: 2, items: false },
  },
  bounds: {
    at: { type: 'integer', minimum: 3, multipleOf: 2 },
    to: { type: 'array', items: { type: 'null' }, maxItems: 2 },
  },
  'oneOf of types': { at: { oneOf: [{ type: 'integer' }, { type: 'string', maxLength: 3 }] } },
  'oneOf of objects': {
    at: {
      oneOf: ['a', 'b'].map((kind) => ({
        type: 'object',
        properties: { kind: { const: kind, default: kind }, when: { type: 'string', format: 'date' } },
      })),
    },
  },
  'an optional field': {
    at: { anyOf: [{ type: 'string', format: 'uuid' }, { type: 'null' }], default: null },
  },
  'a reference': { at: { $ref: '#/$defs/Point' } },
};
const Point = {
  type: 'object',
  properties: { x: { type: 'number' } },
  required: ['x'],
  additionalProperties: false,
};
const LIMITS: Schema[] = [{}, { additionalProperties: false }, { minProperties: 1, maxProperties: 4 }];

/** A union of objects whose tag has a default, so that pydantic does not require it. */
const union = (count: number, properties: Schema, limits: Schema): Schema => {
  const branches = Array.from({ length: count }, (_, index): [string, Schema] => [
    `K${index}`,
    {
      type: 'object',
      title: `K${index}`,
      properties: { kind: { const: `k${index}`, default: `k${index}`, type: 'string' }, ...properties },
      ...limits,
    },
  ]);
  return {
    type: 'object',
    properties: {
      action: {
        discriminator: { propertyName: 'kind' },
        oneOf: branches.map(([name]) => ({ $ref: `#/$defs/${name}` })),
      },
    },
    required: ['action'],
    $defs: { Point, ...Object.fromEntries(branches) },
  };
};

describe.each(Object.entries(PARTS))('branches of oneOf with an optional tag and %s', (_, properties) => {
  test.each(LIMITS)('are told apart by the tag: %j', (limits) => {
    for (const count of [2, 12]) {
      const schema = union(count, properties, limits);
      expect(compile(schema, false).loosened).toEqual([]);
      const { drawn, fault } = invalidDraw(schema, new Random(SEED), 20);
      expect(fault).toBeNull();
      expect(drawn).toBeGreaterThan(10);
    }
  });
});

test('too many branches of oneOf to tell apart are those of anyOf without strict', () => {
  const properties = Object.fromEntries(
    Array.from({ length: 20 }, (_, index) => [`p${index}`, { type: 'string', format: 'date' }]),
  );
  const schema = { oneOf: Array.from({ length: 60 }, () => ({ type: 'object', properties })) };
  const { gbnf, loosened } = compile(schema, false);
  expect(loosened).toContain('schema.oneOf');
  expect(gbnf).toContain('p19');
});

test('branches of oneOf that have no value in common are enforced', () => {
  const schema = {
    oneOf: [
      { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] },
      { type: 'object', properties: { a: { type: 'string', format: 'date' } }, required: ['a'] },
      { type: 'object', properties: { b: { type: 'null' } }, required: ['b'], additionalProperties: false },
      { type: 'array', items: { type: 'string' } },
      { type: 'integer', maximum: 2 },
      { type: 'integer', exclusiveMinimum: 2 },
      { const: 'x', title: 'X' },
      { const: 'y', title: 'Y' },
      { type: 'null' },
    ],
  };
  expect(compile(schema, false).loosened).toEqual([]);
  const { drawn, fault } = invalidDraw(schema, new Random(SEED), 90);
  expect(fault).toBeNull();
  expect(drawn).toBeGreaterThan(60);
});

/** Schemas whose parts depend on each other. */
const BESIDE_OTHERS: Record<string, Schema> = {
  'oneOf, a branch of which is about other types': {
    type: ['integer', 'object'],
    oneOf: [{ type: 'integer', minimum: 3 }, { type: 'object', required: ['a'] }, { type: 'array' }],
  },
  'oneOf, whose branches share only a type that the schema excludes': {
    type: 'integer',
    oneOf: [
      { type: ['integer', 'null'], maximum: 5 },
      { type: ['integer', 'null'], minimum: 6 },
    ],
  },
  'oneOf of arrays whose first elements differ': {
    oneOf: ['string', 'integer'].map((type) => ({ type: 'array', items: { type }, minItems: 1 })),
  },
  'a format of integers without a type': { format: 'int32', minimum: -5 },
  'more elements than `prefixItems`': { type: 'array', prefixItems: [{ type: 'integer' }], minItems: 3 },
  'anchors within anchors': { type: 'string', pattern: '^(?:(^ab$|c$)(?=$))$' },
};

test.each(Object.entries(BESIDE_OTHERS))('%s', (_, schema) => {
  const { drawn, fault } = invalidDraw(schema, new Random(SEED), 60);
  expect(fault).toBeNull();
  expect(drawn).toBeGreaterThan(20);
});

test('a listed value is right, also where its format is narrower here than its standard', () => {
  const schema = { type: 'string', format: 'uri', enum: ['ldap://[2001:db8::7]/c=GB', 'https://a.example/'] };
  expect(new Set(draws(schema, new Random(SEED), 40))).toEqual(
    new Set(schema.enum.map((value) => JSON.stringify(value))),
  );
});

test('a pattern says which addresses are asked for', () => {
  const schema = { type: 'string', format: 'uri', pattern: '^postgres://' };
  const texts = draws(schema, new Random(SEED), 40);
  expect(texts.length).toBeGreaterThan(30);
  for (const text of texts) expect(new URL(JSON.parse(text)).protocol).toBe('postgres:');
});

/** Schemas as pydantic writes them. */
const PYDANTIC: Record<string, Schema> = {
  'an optional field': {
    anyOf: [{ type: 'string', maxLength: 5 }, { type: 'null' }],
    default: null,
    title: 'A',
  },
  'a decimal': {
    anyOf: [{ type: 'number' }, { pattern: String.raw`^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$`, type: 'string' }],
  },
  'a union with a discriminator': {
    discriminator: { mapping: { cat: '#/$defs/Cat', dog: '#/$defs/Dog' }, propertyName: 'kind' },
    oneOf: [{ $ref: '#/$defs/Cat' }, { $ref: '#/$defs/Dog' }],
    $defs: {
      Cat: { type: 'object', properties: { kind: { const: 'cat', type: 'string' } }, required: ['kind'] },
      Dog: { type: 'object', properties: { kind: { const: 'dog', type: 'string' } }, required: ['kind'] },
    },
  },
  'a dictionary': { additionalProperties: { type: 'integer' }, type: 'object', minProperties: 1 },
  'a set of enums that share a value': {
    type: 'array',
    uniqueItems: true,
    items: { anyOf: [{ $ref: '#/$defs/E' }, { enum: ['b', 'c'] }] },
    $defs: { E: { enum: ['a', 'b'] } },
  },
};

test.each(Object.entries(PYDANTIC))('pydantic: %s', (_, schema) => {
  expect(invalidDraw(schema, new Random(SEED), 60)).toMatchObject({ fault: null });
});

/** Schemas as generators for earlier drafts and for OpenAPI write them. */
const OTHER_DRAFTS: Record<string, [Schema, (value: unknown) => boolean]> = {
  'a tuple of draft 7': [
    { type: 'array', items: [{ const: 1 }, { type: 'boolean' }], additionalItems: false, minItems: 2 },
    (value) => Array.isArray(value) && value.length === 2 && value[0] === 1 && typeof value[1] === 'boolean',
  ],
  'a tuple of draft 7 with others after it': [
    { type: 'array', items: [{ const: 1 }], additionalItems: { type: 'null' }, minItems: 1 },
    (value) => Array.isArray(value) && value[0] === 1 && value.slice(1).every((item) => item === null),
  ],
  'a bound of draft 4': [
    { type: 'number', minimum: 0, exclusiveMinimum: true, maximum: 1 },
    (value) => Number(value) > 0 && Number(value) <= 1,
  ],
  ...Object.fromEntries(
    (
      [
        ['int8', -128, 127],
        ['uint8', 0, 255],
        ['int32', -(2 ** 31), 2 ** 31 - 1],
        ['uint', 0, 2 ** 64],
      ] as const
    ).map(([format, low, high]) => [
      format,
      [{ type: 'integer', format }, (value: unknown) => Number(value) >= low && Number(value) <= high],
    ]),
  ),
};

test.each(Object.entries(OTHER_DRAFTS))('%s', (_, [schema, isValid]) => {
  const texts = draws(schema, new Random(SEED), 60);
  expect(texts.filter((text) => !isValid(JSON.parse(text)))).toEqual([]);
  expect(texts.length).toBeGreaterThan(30);
});

test.each([
  { multipleOf: 100, minimum: -350, maximum: 1050 },
  { multipleOf: 1_000_000, minimum: -1e15, maximum: 1e15 },
  { multipleOf: 250, exclusiveMinimum: 0, maximum: 100_000 },
])('multiples that end in zeros: %j', (bounds) => {
  expect(invalidDraw({ type: 'integer', ...bounds }, new Random(SEED), 60)).toEqual({
    drawn: 60,
    fault: null,
  });
});

/** What cannot be enforced, and the place that is named. */
const UNENFORCEABLE: Record<string, [Schema, string]> = {
  'elements that differ, of any text': [
    { type: 'array', items: { type: 'string' }, uniqueItems: true },
    '.uniqueItems',
  ],
  'a word boundary': [{ type: 'string', pattern: String.raw`\bword\b` }, '.pattern'],
  'a back-reference': [{ type: 'string', pattern: String.raw`^(a|b)\1$` }, '.pattern'],
  'an escape of another language': [{ type: 'string', pattern: String.raw`\x{41}` }, '.pattern'],
  'a class within a class': [{ type: 'string', pattern: '^[[:alpha:]]$' }, '.pattern'],
  'a pattern that is not one': [{ type: 'string', pattern: '^(a$' }, '.pattern'],
  'an unknown format': [{ type: 'string', format: 'colour' }, '.format'],
  'several names of a record': [
    { type: 'object', additionalProperties: true, minProperties: 3 },
    '.minProperties',
  ],
  'a bound past all numbers': [{ type: 'number', minimum: 1e50 }, '.minimum'],
  'a negative bound past all numbers': [{ type: 'integer', exclusiveMaximum: -1e50 }, '.exclusiveMaximum'],
  'a negation': [{ type: 'string', not: { const: 'a' } }, '.not'],
  'branches that contain each other': [
    { oneOf: [{ type: 'string' }, { type: 'string', format: 'date' }] },
    '.oneOf',
  ],
  'branches that contain each other, in a branch': [
    { oneOf: [{ type: 'null' }, { oneOf: [{ type: 'string', format: 'date' }, { type: 'string' }] }] },
    '.oneOf[1].oneOf',
  ],
  ...Object.fromEntries(
    Object.entries({
      if: { const: 1 },
      else: false,
      dependentSchemas: { a: {} },
      dependencies: { a: {} },
      contains: { const: 1 },
      minContains: 2,
      maxContains: 2,
      unevaluatedItems: false,
      unevaluatedProperties: false,
      $dynamicRef: '#',
      $recursiveRef: '#',
    }).map(([keyword, value]): [string, [Schema, string]] => [
      keyword,
      [{ type: ['object', 'array'], [keyword]: value }, `.${keyword}`],
    ]),
  ),
  'repetitions of repetitions': [{ type: 'string', pattern: '^((a{1,100}b){1,100}c){1,100}$' }, '.pattern'],
  'a length past all replies': [{ type: 'string', minLength: 100_000 }, '.minLength'],
};

describe.each(Object.entries(UNENFORCEABLE))('%s', (_, [schema, at]) => {
  const nested = { type: 'object', properties: { value: schema }, required: ['value'] };

  test('is refused by its place with strict', () => {
    expect(() => compile(nested)).toThrow(ServiceError);
    const place = `schema.properties.value${at}`;
    expect(() => compile(nested)).toThrow(
      expect.objectContaining({ message: expect.stringContaining(place) }),
    );
  });

  test('is left out without strict, and named', () => {
    const { gbnf, loosened } = compile(nested, false);
    expect(loosened).toEqual([`schema.properties.value${at}`]);
    expect(JSON.parse(new GbnfSampler(gbnf).draw(new Random(1)) ?? '')).toHaveProperty('value');
  });
});

test('a negation of all or of nothing is enforced', () => {
  const [all, none]: Schema[] = [{ not: { not: { title: 'Any' } } }, { not: { not: false } }];
  for (const not of [false, none, { not: all }])
    expect(draws({ type: 'null', not }, new Random(SEED), 1)).toEqual(['null']);
  for (const not of [true, {}, all, { description: 'Any' }])
    expect(draws({ anyOf: [{ not }, { type: 'null' }] }, new Random(SEED), 1)).toEqual(['null']);
});

test('advice for a schema that is enforced without the rules of strict does not name strict', () => {
  const schema = { oneOf: [{ type: 'string' }, { type: 'string', format: 'date' }] };
  const parts = [{ at: [], param: 'guided_json', strict: 'keywords' as const }];
  const compiled = () => compileSchema(JSON.stringify(schema), { parts });
  expect(compiled).toThrow('`guided_json.oneOf` allows values of two of its schemas (write `anyOf`)');
  expect(compiled).toThrow(/^(?!.*strict).*send the schema as `response_format`/);
});

test('a schema without strict whose grammar is too large keeps its types alone', () => {
  const wide = Object.fromEntries(
    Array.from({ length: 200 }, (_, i) => [`p${i}`, { type: 'string', minLength: i }]),
  );
  const schema = {
    type: 'object',
    properties: { a: { type: 'object', properties: wide, maxProperties: 100 } },
    required: ['a'],
  };
  expect(() => compile(schema)).toThrow(ServiceError);
  const { gbnf, loosened } = compile(schema, false);
  expect(loosened.length).toBeGreaterThan(0);
  expect(JSON.parse(new GbnfSampler(gbnf).draw(new Random(1)) ?? '')).toHaveProperty('a');
});

/** Schemas that are small, and would take minutes or all memory, or be refused by llama.cpp. */
const COSTLY: Record<string, Schema> = {
  'objects compared with objects': {
    allOf: [0, 1].map((first) => ({ enum: Array.from({ length: 3000 }, (__, i) => ({ a: i + first })) })),
  },
  'members read in thousands of schemas': {
    required: Array.from({ length: 20_000 }, (_, i) => `p${i}`),
    allOf: Array.from({ length: 3000 }, () => ({ type: 'object', additionalProperties: { type: 'string' } })),
  },
  'objects of more optional members than llama.cpp reads': {
    properties: Object.fromEntries(Array.from({ length: 251 }, (_, i) => [`p${i}`, {}])),
  },
  'words of thousands of characters': { enum: [ideographs(0, 9000), ideographs(9000, 18_000)] },
};

test.each(Object.entries(COSTLY))('%s are refused with strict, or left out', (_, schema) => {
  expect(() => compile(schema)).toThrow(ServiceError);
  expect(compile(schema, false).loosened.length).toBeGreaterThan(0);
});

test.each<Schema>([
  { anyOf: [1, 2, 3].map((maxItems) => ({ type: 'array', items: {}, minItems: 1, maxItems })) },
  { anyOf: ['a', 'b', 'c'].map((name) => ({ type: 'object', properties: { [name]: {}, z: {} } })) },
])('alternatives of a rule begin with different texts: %j', (schema) => {
  for (const rule of compile(schema).gbnf.matchAll(/^r\d+ ::= ("[^]*?)$/gm)) {
    const begins = rule[1]?.match(/(?<=^|\| )"(?:[^"\\]|\\.)*"/g) ?? [];
    expect(begins).toEqual([...new Set(begins)]);
  }
});

test('a list of many labels in ideographs is enforced', () => {
  const labels = Array.from({ length: 500 }, (_, index) => ideographs(7 * index, 7 * index + 5));
  const drawn = draws({ enum: labels }, new Random(SEED), 20);
  expect(drawn).toHaveLength(20);
  for (const text of drawn) expect(labels).toContain(JSON.parse(text));
});

test('a class of all letters may be repeated', () => {
  const pattern = String.raw`^[\p{L}\p{N} ]{1,64}$`;
  expect(invalidDraw({ type: 'string', pattern }, new Random(SEED), 10)).toEqual({ drawn: 10, fault: null });
});

test('a format holds where the pattern beside it cannot be read', () => {
  const schema = { type: 'string', format: 'date', pattern: String.raw`^\p{Alnum}+$` };
  expect(invalidDraw({ type: 'string', format: 'date' }, new Random(SEED), 5).fault).toBeNull();
  for (const text of draws(schema, new Random(SEED), 5)) expect(text).toMatch(/^"\d{4}-\d\d-\d\d"$/);
});

test.each(['#nowhere', 'other.json', '#/$defs/none'])('a reference to %s is refused beside names', ($ref) => {
  const schema = { $id: 'https://example.com/a', type: 'object', properties: { next: { $ref } } };
  expect(() => compile(schema)).toThrow('points nowhere');
});

test('a schema without values is refused by its place', () => {
  const never = { type: 'integer', minimum: 5, maximum: 3 } as const;
  const holder = { type: 'object', properties: { left: never, b: never }, required: ['b'] } as const;
  for (const [inner, place] of [
    [{ $ref: '#' }, ''],
    [never, ''],
    [{ type: 'string', format: 'duration', minLength: 70 }, ''],
    [holder, '.properties.b'],
    [{ type: 'array', items: holder, minItems: 1 }, '.items.properties.b'],
  ] as const) {
    const schema = { type: 'object', properties: { next: inner }, required: ['next'] };
    for (const strict of [true, false])
      expect(() => compile(schema, strict)).toThrow(`.next${place}\` cannot be enforced: no value fits`);
  }
});

test('a strict function without arguments that fit is refused beside sound ones, and others are left out', () => {
  const never = { type: 'object', properties: { b: { enum: [] } }, required: ['b'] };
  for (const [broken, place] of [
    [never, '.properties.b'],
    [{ type: 'object', minProperties: 2, maxProperties: 1 }, ''],
  ] as const) {
    const compileCalls = (strict: boolean) => {
      const functions = [{ type: 'object' }, broken].map((parameters, index) => {
        const name = `f${index}`;
        const tool = { kind: 'function' as const, name };
        return { tool, name, description: null, parameters, param: `tools[${index}]`, strict };
      });
      const constraint = callConstraint({ functions, mustCall: false, isNamed: false, maxCalls: 1 });
      const { schema, parts = [] } = constraint as JsonConstraint;
      return compileSchema(schema, { parts }).gbnf;
    };
    expect(() => compileCalls(true)).toThrow(`\`tools[1]${place}\` cannot be enforced: no value fits`);
    expect(compileCalls(false)).not.toContain('f1');
  }
});

/** Names of one length beyond 16,383 characters, which have one hash in V8. */
const longNames = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => 'a'.repeat(17_000) + String(index).padStart(5, '0'));

const unenforced = (name: string, count: number): Schema => {
  const members = Array.from({ length: count }, (_, index) => [`p${index}`, { maxContains: index }]);
  return { type: 'object', properties: { [name]: { properties: Object.fromEntries(members) as Schema } } };
};

test('places that are not enforced are few and short, however many and long the names', () => {
  const { loosened } = compile(unenforced('a'.repeat(1000), 200), false);
  expect(loosened).toHaveLength(17);
  expect(loosened[0]).toBe(`schema.properties.${'a'.repeat(64)}.properties.p0.maxContains`);
});

test('thousands of places below a long name are left out soon', () => {
  expect(compile(unenforced('a'.repeat(40_000), 9000), false).loosened).toEqual(['schema']);
});

// Each compares long texts with all before it, or reads them for each reference: it would take minutes.
test.each<[string, Schema]>([
  ['values', { enum: longNames(5000) }],
  ['names that are required', { type: 'object', required: longNames(5000) }],
  ['names that another requires', { type: 'object', dependentRequired: { a: longNames(5000) } }],
])('many long names are too costly at once: %s', (_, schema) => {
  expect(() => compile(schema)).toThrow('too large');
});

const LONG_ID = `https://a/${'a'.repeat(4_000_000)}`;
const references = (reference: Schema): Schema[] => Array.from({ length: 10_000 }, () => ({ ...reference }));
const around = (levels: number, inner: Schema, wrap: (name: string, inner: Schema) => Schema): Schema =>
  longNames(levels).reduce((schema, name) => wrap(name, schema), inner);
const toAnchor = references({ $ref: '#a' });
test.each<[string, Schema]>([
  ['a long $id', { $id: LONG_ID, anyOf: toAnchor }],
  ['a long $id below', { items: { $id: LONG_ID, anyOf: toAnchor } }],
  [
    '$ids that grow',
    around(150, { anyOf: toAnchor }, (name, items) => ({ $id: `${name.slice(-900)}/`, items })),
  ],
  ['long anchors', { anyOf: longNames(5000).map(($anchor) => ({ $anchor })) }],
  [
    'a long way to an anchor',
    { not: around(40, { $anchor: 'a' }, (name, inner) => ({ $defs: { [name]: inner } })), anyOf: toAnchor },
  ],
])('names and references are followed in linear time: %s', (_, schema) => {
  const text = JSON.stringify(withPointers(schema));
  expect(text).not.toMatch(/"\$(id|anchor)":/);
  expect(text.length).toBeLessThan(JSON.stringify(schema).length + 100);
});

test('an $id that is none, or too long, leaves the references around it as they are', () => {
  const bad = (own: string) => ({ $id: own, const: 'wrong' });
  const schema = {
    type: 'object',
    properties: { a: { $ref: '#/$defs/a' }, b: { $ref: '#b' } },
    required: ['a', 'b'],
    additionalProperties: false,
    $defs: {
      a: { const: 1 },
      b: { $anchor: 'b', const: 2 },
      c: bad(`https://a/${'a'.repeat(2000)}`),
      d: bad('http://['),
    },
  };
  const text = new GbnfSampler(compile(schema).gbnf).draw(new Random(1));
  expect(JSON.parse(text ?? '')).toEqual({ a: 1, b: 2 });
});

test('a strict part keeps its bounds beside one that is loosened', () => {
  const strict = { type: 'string', pattern: '^a+$' };
  const loose = { type: 'string', pattern: String.raw`\bx` };
  const schema = JSON.stringify({ type: 'array', prefixItems: [strict, loose], items: false });
  const parts = [
    { at: ['prefixItems', '0'], param: 'tools[0]', strict: true },
    { at: ['prefixItems', '1'], param: 'tools[1]', strict: false },
  ];
  const { gbnf, loosened } = compileSchema(schema, { parts });
  expect(loosened).toEqual(['tools[1].pattern']);
  // Once for all choices of a request.
  expect(compileSchema(schema, { parts }).loosened).toBe(loosened);
  const sampler = new GbnfSampler(gbnf);
  for (let i = 0; i < 20; i++) expect(sampler.draw(new Random(i))).toMatch(/^\[\s*"a+"/);
});

test('two parts may have the same anchor', () => {
  const named = (value: string) => ({
    properties: { a: { $ref: '#x' } },
    required: ['a'],
    $defs: { x: { $anchor: 'x', const: value } },
  });
  const schema = JSON.stringify({
    type: 'array',
    prefixItems: [{ $ref: '#/$defs/f' }, { $ref: '#/$defs/g' }],
    items: false,
    $defs: { f: named('of f'), g: named('of g') },
  });
  const { gbnf } = compileSchema(schema, {
    parts: ['f', 'g'].map((name) => ({ at: ['$defs', name], param: `tools.${name}`, strict: true })),
  });
  const text = new GbnfSampler(gbnf).draw(new Random(1));
  expect(JSON.parse(text ?? '')).toEqual([{ a: 'of f' }, { a: 'of g' }]);
});

/** Schemas within each other, each with an `$id`, and the only value that the outer one allows. */
function schemasWithin([id, ...inner]: readonly string[], level = 0): { schema: Schema; value: unknown } {
  const [innerId] = inner;
  const below = innerId === undefined ? null : schemasWithin(inner, level + 1);
  const properties = {
    own: { $ref: '#/$defs/own' },
    ...(below && {
      inner: { $ref: innerId },
      named: { $ref: `${innerId}#/$defs/own` },
      across: { $ref: '#/$defs/inner/$defs/own' },
    }),
  };
  const ofInner = `of level ${level + 1}`;
  return {
    schema: {
      ...(id && { $id: id }),
      type: 'object',
      properties,
      required: Object.keys(properties),
      additionalProperties: false,
      $defs: { own: { const: `of level ${level}` }, ...(below && { inner: below.schema }) },
    },
    value: {
      own: `of level ${level}`,
      ...(below && { inner: below.value, named: ofInner, across: ofInner }),
    },
  };
}

describe.each([
  [['', 'a.json']],
  [['https://example.com/a.json', 'b.json', '/c/d.json']],
  [['urn:a:0', 'urn:a:1', 'urn:a:2']],
])('pointers in schemas with the $ids %j begin at the nearest of them', (ids) => {
  const { schema, value } = schemasWithin(ids);

  test('of a reply', () => {
    const texts = draws(schema, new Random(1), 1);
    expect(texts.map((text) => JSON.parse(text) as unknown)).toEqual([value]);
  });

  test('of functions, beside the reply', () => {
    const functions = ['f', 'g'].map((name) => ({
      tool: { kind: 'function' as const, name },
      name,
      description: null,
      parameters: schema,
      param: `tools.${name}`,
      strict: true,
    }));
    const parts = [{ at: [], param: 'response_format', strict: true }];
    const constraint = callConstraint(
      { functions, mustCall: false, isNamed: false, maxCalls: 1 },
      { kind: 'json_schema', schema: JSON.stringify(schema), parts },
    );
    const { schema: whole, parts: places = [] } = constraint as JsonConstraint;
    const sampler = new GbnfSampler(compileSchema(whole, { parts: places }).gbnf);
    const seen = Array.from({ length: 30 }, (_, seed) => sampler.draw(new Random(seed)) ?? '');
    const values = new Set(seen.map((text) => JSON.stringify(JSON.parse(text))));
    const calls = functions.map(({ name }) => [{ name, arguments: value }]);
    expect([...values].toSorted()).toEqual([value, ...calls].map((each) => JSON.stringify(each)).toSorted());
  });
});

test('all states of a pattern share the ranges of a set, which may be a thousand', () => {
  const languages = new Languages();
  const states = languages.automaton(languages.repeat(languages.set([0x41, 0x5a, 0x61, 0x7a]), 1, 50), false);
  expect(states).toHaveLength(51);
  expect(new Set(states.flatMap(({ next }) => next.map(({ ranges }) => ranges))).size).toBe(1);
});
