import { describe, expect, test, vi } from 'vitest';
import { checkJsonSchema } from '../../../src/grammar/check-schema.ts';
import { withPointers } from '../../../src/grammar/schema-references.ts';
import { ServiceError } from '../../../src/base/errors/service-error.ts';
import { validator } from '../../support/grammar/validate.ts';

type Schema = Record<string, unknown>;

const numbered = <Value>(count: number, value: (index: number) => Value): Value[] =>
  Array.from({ length: count }, (_, index) => value(index));
const properties = (count: number, schema: unknown = {}): Schema =>
  Object.fromEntries(numbered(count, (index) => [`p${index}`, schema]));
const names = (count: number): string[] => numbered(count, (index) => `p${index}`);

/** Object schema in the form that `strict` asks for. */
const closed = (members: Schema): Schema => ({
  type: 'object',
  properties: members,
  required: Object.keys(members),
  additionalProperties: false,
});

/** 2 to the power of `depth` values, in few characters. */
function doubling(depth: number): Schema {
  const pair = (index: number) => {
    const next = { $ref: `#/$defs/d${index + 1}` };
    return index === depth ? { type: 'boolean' } : closed({ a: next, b: next });
  };
  return { $ref: '#/$defs/d0', $defs: Object.fromEntries(numbered(depth + 1, (i) => [`d${i}`, pair(i)])) };
}

const chain = (depth: number): Schema =>
  depth === 0 ? { type: 'boolean' } : closed({ a: chain(depth - 1) });

/** Schemas for `strict`, and the place that the error names, below `schema`. */
const TOO_LARGE: Record<string, [Schema, string]> = {
  'large enums': [closed(properties(200, { enum: numbered(100, String) })), ''],
  'a long const': [{ items: { const: 'c'.repeat(40_000) } }, '.items'],
  'doubling references': [doubling(20), ''],
  'deep nesting': [chain(40), ''],
};

/** Schemas that are refused in any mode. */
const REFUSED: Record<string, [Schema, string]> = {
  'no length that would do': [{ type: 'string', minLength: 5, maxLength: 1 }, '.minLength'],
  'a tuple of draft 7': [{ items: [{ type: 'string' }, { type: 'text' }] }, '.items[1].type'],
  'no type at all': [{ items: { type: [] } }, '.items.type'],
  'no count that would do': [{ items: { type: 'array', minItems: 5, maxItems: 1 } }, '.items.minItems'],
  'no number that would do': [{ type: 'integer', minimum: 5, maximum: 1 }, '.minimum'],
  'a length that is no number': [{ type: 'string', minLength: '5' }, '.minLength'],
  'a reference to itself': [{ $ref: '#' }, ''],
  'references to each other': [
    { items: { $ref: '#/$defs/a' }, $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } },
    '',
  ],
  'a fault in a large schema': [
    { properties: { ...properties(3000, true), a: { items: { allOf: 5 } } } },
    '.properties.a.items.allOf',
  ],
  'a long reference': [{ $ref: `#/${'a'.repeat(2000)}` }, '.$ref'],
};

function refusal(schema: Schema, strict = true): string | null {
  try {
    checkJsonSchema(schema, 'schema', strict);
    return null;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    expect(error.wire).toMatchObject({ status: 400, code: 'invalid_json_schema' });
    return error.wire.param;
  }
}

describe('a schema is refused by the place', () => {
  test.each(Object.entries(REFUSED))('%s', (_, [schema, at]) => {
    const param = refusal(schema, false);
    if (at === '') expect(param).toMatch(/^schema/);
    else expect(param).toBe(`schema${at}`);
  });

  test.each(Object.entries(TOO_LARGE))('strict, and not otherwise: %s', (_, [schema, at]) => {
    expect(refusal(schema)).toMatch(new RegExp(`^schema.*${at}`));
    expect(refusal(schema, false)).toBeNull();
  });

  test('the work for it is bounded', () => {
    const schema = doubling(31);
    const read: string[] = [];
    const watched = new Proxy(schema['$defs'] as Schema, {
      get: (defs, name, receiver) => (read.push(String(name)), Reflect.get(defs, name, receiver)),
    });
    expect(refusal({ ...schema, $defs: watched })).toMatch(/^schema/);
    expect(read.length).toBeLessThan(10_000);
  });

  test.each(['patternProperties', 'dependentRequired', 'dependencies'])(
    'a schema is read once, however many references lead to it: %s',
    (keyword) => {
      let reads = 0;
      const members = new Proxy(properties(1000, keyword === 'patternProperties' ? true : ['a']), {
        get: (target, name) => (reads++, Reflect.get(target, name)),
      });
      const schema = {
        allOf: numbered(60, () => ({ $ref: '#/$defs/x' })),
        $defs: { x: { [keyword]: members } },
      };
      expect(refusal(schema, false)).toBeNull();
      expect(reads).toBeLessThan(10_000);
    },
  );

  test('booleans count among its schemas', () => {
    expect(refusal({ anyOf: numbered(3000, () => true) })).toMatch(/^schema/);
  });
});

/** Schemas that others refer to by a name, and a value that must be refused by each; `ajv` says so. */
const LIST = { type: 'object', properties: { next: {} }, required: ['next'], additionalProperties: false };
const listOf = (reference: Schema): Schema => ({
  ...LIST,
  properties: { next: { anyOf: [reference, { type: 'null' }] } },
});
const wordsOf = ($ref: string, others: Schema): Schema => ({
  type: 'array',
  items: { $ref },
  minItems: 1,
  ...others,
});
const NAMED: Record<string, Schema> = {
  'an anchor': wordsOf('#word', { $defs: { w: { $anchor: 'word', const: 'x' } } }),
  'an anchor of draft 7': wordsOf('#word', { definitions: { w: { $id: '#word', const: 'x' } } }),
  'a relative $id': {
    $id: 'https://example.com/schemas/root',
    ...wordsOf('word', { $defs: { w: { $id: 'word', const: 'x' } } }),
  },
  'the $id of the root': { $id: 'https://example.com/root.json', ...listOf({ $ref: 'root.json' }) },
  'a URN': { $id: 'urn:example:root', ...listOf({ $ref: 'urn:example:root' }) },
  'a pointer within an $id': wordsOf('https://example.com/a#/$defs/w', {
    $defs: { a: { $id: 'https://example.com/a', $defs: { w: { const: 'x' } } }, w: { const: 'y' } },
  }),
  'a pointer from within an $id': wordsOf('/a', {
    $defs: { 'a b': { $id: '/a', $ref: '#/$defs/w', $defs: { w: { const: 'x' } } }, w: { const: 'y' } },
  }),
  'an anchor within an $id': wordsOf('a#w', {
    $defs: { a: { $id: 'a', $defs: { w: { $anchor: 'w', const: 'x' } } }, w: { $anchor: 'w', const: 'y' } },
  }),
};

test.each(Object.entries(NAMED))('references are pointers: %s', (_, schema) => {
  const text = JSON.stringify(schema);
  expect(refusal(schema, false)).toBeNull();
  const rewritten = withPointers(schema);
  expect(JSON.stringify(schema)).toBe(text);
  expect(JSON.stringify(rewritten)).not.toMatch(/\$(?:id|anchor)/i);
  const isValid = (value: unknown): boolean => validator(rewritten)(JSON.stringify(value)) === null;
  if (schema['type'] === 'array') {
    expect([isValid(['x']), isValid(['y']), isValid([])]).toEqual([true, false, false]);
  } else {
    expect([isValid({ next: { next: null } }), isValid({ next: { next: 1 } })]).toEqual([true, false]);
  }
});

test('names in values are left alone', () => {
  const schema = { $id: 'x', enum: [{ $id: 'y', $ref: '#a' }], properties: { $ref: { type: 'string' } } };
  expect(withPointers(schema)).toEqual({ enum: schema.enum, properties: schema.properties });
});

/** Kinds of values that each keyword takes. */
const taking = (keywords: string, ...kinds: string[]): Record<string, string[]> =>
  Object.fromEntries(keywords.split(' ').map((keyword) => [keyword, kinds]));
const KINDS: Record<string, string[]> = {
  ...taking('minLength maxLength minItems maxItems minProperties maxProperties', 'number'),
  ...taking('minimum maximum multipleOf', 'number'),
  ...taking('exclusiveMinimum exclusiveMaximum', 'number', 'boolean'),
  ...taking('pattern format $ref', 'string'),
  ...taking('type', 'string', 'array'),
  ...taking('enum required allOf anyOf oneOf prefixItems', 'array'),
  ...taking('items', 'object', 'array', 'boolean'),
  ...taking('uniqueItems', 'boolean'),
  ...taking('properties patternProperties $defs definitions dependentRequired dependencies', 'object'),
  ...taking('additionalItems additionalProperties not propertyNames', 'object', 'boolean'),
};
const VALUES: Record<string, unknown> = {
  number: 0.5,
  string: 'no such',
  boolean: true,
  array: [{}, 1],
  object: { a: 5 },
  null: null,
};

test.each(Object.entries(KINDS))('a value that is none of %s is refused by its place', (keyword, kinds) => {
  for (const [kind, value] of Object.entries(VALUES)) {
    if (kinds.includes(kind)) continue;
    const param = refusal({ properties: { a: { [keyword]: value } } }, false);
    expect(param, `${kind}: ${param}`).toMatch(/^schema\.properties\.a/);
    expect(param).toContain(keyword);
  }
});

const TAKEN: Record<string, Schema> = {
  'every country': { enum: numbered(249, (index) => `country ${index}`) },
  'a recursive schema': { type: 'object', properties: { child: { $ref: '#' } } },
  'schemas that refer to each other': {
    $ref: '#/$defs/a',
    $defs: { a: { items: { $ref: '#/$defs/b' } }, b: { properties: { a: { $ref: '#/$defs/a' } } } },
  },
  'a large form': { properties: properties(200, { type: 'string', maxLength: 500 }), required: names(200) },
  'a percent-encoded reference': { $ref: '#/$defs/a%20b~1c', $defs: { 'a b/c': { type: 'string' } } },
  'a name with a per cent sign': { $ref: '#/$defs/100%', $defs: { '100%': { type: 'string' } } },
  'a date': { type: 'string', pattern: String.raw`^\d{4}-\d{2}-\d{2}$` },
};

test.each(Object.entries(TAKEN))('taken, without writing it: %s', (_, schema) => {
  const write = vi.spyOn(JSON, 'stringify');
  expect(refusal(schema, false)).toBeNull();
  expect(write.mock.calls.flat()).not.toContain(Object.keys(schema)[0]);
});
