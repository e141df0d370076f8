import { zodFunction, zodResponseFormat, zodResponsesFunction, zodTextFormat } from 'openai/helpers/zod';
import { expect, test } from 'vitest';
import * as z from 'zod';

import { checkJsonSchema } from '../../../src/grammar/check-schema.ts';
import { compileSchema } from '../../../src/grammar/compile-schema.ts';
import { Random } from '../../chaos/random.ts';
import { GbnfSampler } from '../../support/grammar/sample-gbnf.ts';

/** The types of zod 4, as zod and the OpenAI SDK write their schemas: a reply under the grammar is of the type. */

type Schema = Record<string, unknown>;

const SEED = 20_261_125;

const FORMATS: Record<string, () => z.ZodType> = {
  email: z.email,
  guid: z.guid,
  uuid: z.uuid,
  uuidv4: z.uuidv4,
  uuidv6: z.uuidv6,
  uuidv7: z.uuidv7,
  url: z.url,
  httpUrl: z.httpUrl,
  hostname: z.hostname,
  emoji: z.emoji,
  e164: z.e164,
  hex: z.hex,
  nanoid: z.nanoid,
  cuid: z.cuid,
  cuid2: z.cuid2,
  ulid: z.ulid,
  xid: z.xid,
  ksuid: z.ksuid,
  ipv4: z.ipv4,
  ipv6: z.ipv6,
  mac: z.mac,
  cidrv4: z.cidrv4,
  cidrv6: z.cidrv6,
  base64: z.base64,
  base64url: z.base64url,
  currencyCode: z.currencyCode,
  date: z.iso.date,
  time: z.iso.time,
  datetime: z.iso.datetime,
  duration: z.iso.duration,
};

const TYPES: Record<string, z.ZodType> = {
  ...Object.fromEntries(Object.entries(FORMATS).map(([name, type]) => [name, type()])),
  ...Object.fromEntries(
    (['md5', 'sha1', 'sha256', 'sha384', 'sha512'] as const).flatMap((hash) =>
      (['hex', 'base64', 'base64url'] as const).map((enc) => [`${hash} in ${enc}`, z.hash(hash, { enc })]),
    ),
  ),
  ...Object.fromEntries(
    [{ precision: 0 }, { precision: -1 }, { precision: 3 }, { offset: true }, { local: true }].map(
      (options) => [`datetime ${JSON.stringify(options)}`, z.iso.datetime(options)],
    ),
  ),
  ...Object.fromEntries(
    [0, -1, 3].map((precision) => [`time of precision ${precision}`, z.iso.time({ precision })]),
  ),
  'email of RFC 5322': z.email({ pattern: z.regexes.rfc5322Email }),
  'email of HTML': z.email({ pattern: z.regexes.html5Email }),
  'email of Unicode': z.email({ pattern: z.regexes.unicodeEmail }),
  'a format of a pattern': z.stringFormat('mine', /^my-\d+$/),
  'parts of strings': z.string().startsWith('a"b').endsWith('z').includes('m'),
  'a part at a place': z.string().includes('a.b', { position: 2 }),
  'lower case': z.string().lowercase().min(2).max(40),
  'upper case': z.string().uppercase(),
  'a length': z.string().length(5),
  'a long string': z.string().max(2000),
  'several patterns': z
    .string()
    .regex(/^[a-z]+$/)
    .regex(/b/)
    .min(3),
  'a template': z.templateLiteral(['v', z.int().min(0).max(99)]),
  'a template of types': z.templateLiteral(['a-', z.enum(['x', 'y']), '-', z.int(), '-', z.boolean()]),
  'a template of a number': z.templateLiteral([z.number(), 'px']),
  integers: z.object({ a: z.int(), b: z.int32().positive(), c: z.uint32(), d: z.int().multipleOf(5) }),
  numbers: z.object({ a: z.number().gt(0).lt(1), b: z.float32(), c: z.number().negative() }),
  'a step': z.number().multipleOf(0.25),
  'several steps': z.int().nonnegative().multipleOf(3).multipleOf(4),
  'literal values': z.literal(['a', 1, null, true]),
  'an enum of 300': z.enum(Array.from({ length: 300 }, (_, index) => `value ${index}`)),
  'a record': z.record(z.string().regex(/^[a-z]{2}$/), z.number()),
  'a record of an enum': z.record(z.enum(['a', 'b']), z.int()),
  'a partial record': z.partialRecord(z.enum(['a', 'b']), z.int()),
  'a loose record': z.looseRecord(z.string().regex(/^x/), z.int()),
  'a tuple': z.tuple([z.string(), z.boolean()]).rest(z.int()),
  arrays: z.object({ a: z.array(z.int()).length(2), b: z.array(z.string()).nonempty().max(3) }),
  'an array of nothing': z.array(z.never()),
  'a union of which one fits': z.xor([z.string(), z.int()]),
  'a discriminated union': z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('a'), x: z.string() }),
    z.object({ kind: z.literal('b'), y: z.nullable(z.int()) }),
  ]),
  'an intersection': z.intersection(z.looseObject({ a: z.string() }), z.looseObject({ b: z.int() })),
  'other members': z.object({ a: z.string() }).catchall(z.int()),
  'a strict object': z.strictObject({ a: z.optional(z.string()), b: z.string().default('b') }),
  'optional properties': z.object(
    Object.fromEntries(Array.from({ length: 70 }, (_, index) => [`p${index}`, z.optional(z.int())])),
  ),
  'a recursive type': z.object({
    name: z.string(),
    get children() {
      return z.array(tree).max(2);
    },
  }),
  'any JSON': z.json(),
};
const tree = z.object({
  name: z.string(),
  get left() {
    return z.nullable(tree);
  },
});

/** Who writes the schema, and whether it is `strict`. */
const WRITERS: Record<string, { strict: boolean; write: (type: z.ZodType) => Schema }> = {
  'draft 2020-12': { strict: false, write: (type) => z.toJSONSchema(type) as Schema },
  'draft 7': { strict: false, write: (type) => z.toJSONSchema(type, { target: 'draft-7' }) as Schema },
  'draft 4': { strict: false, write: (type) => z.toJSONSchema(type, { target: 'draft-4' }) as Schema },
  'OpenAPI 3.0': {
    strict: false,
    write: (type) => z.toJSONSchema(type, { target: 'openapi-3.0' }) as Schema,
  },
  zodResponseFormat: {
    strict: true,
    write: (type) => zodResponseFormat(type, 'reply').json_schema.schema ?? {},
  },
  zodTextFormat: { strict: true, write: (type) => zodTextFormat(type, 'reply').schema },
  zodFunction: {
    strict: true,
    write: (parameters) =>
      zodFunction({ name: 'f', parameters: parameters as z.ZodObject }).function.parameters ?? {},
  },
  zodResponsesFunction: {
    strict: true,
    write: (parameters) =>
      (zodResponsesFunction({ name: 'f', parameters: parameters as z.ZodObject }).parameters as Schema) ?? {},
  },
};

/** What drafts before 2019-09 and OpenAPI 3.0 have no keyword for. */
const NOT_WRITTEN: Record<string, string[]> = {
  'draft 4': ['a record', 'a record of an enum', 'a partial record'],
  'OpenAPI 3.0': ['a record', 'a record of an enum', 'a partial record', 'a tuple'],
};

/** The SDK refuses some keywords itself. */
function orNull(write: () => Schema): Schema | null {
  try {
    return write();
  } catch {
    return null;
  }
}

/** A type's schemas that differ, by who writes them so. */
function schemasOf(name: string, type: z.ZodType): { writers: string; schema: Schema; strict: boolean }[] {
  const found = new Map<string, { writers: string; schema: Schema; strict: boolean }>();
  for (const [writer, { strict, write }] of Object.entries(WRITERS)) {
    if (NOT_WRITTEN[writer]?.includes(name)) continue;
    const schema = orNull(() => write(strict ? wrapped(type) : type));
    if (schema === null) continue;
    delete schema['$schema'];
    const key = JSON.stringify([strict, schema]);
    const writers = [found.get(key)?.writers ?? [], writer].flat().join(', ');
    found.set(key, { writers, schema, strict });
  }
  return [...found.values()];
}

/** The SDK's helpers write objects alone. */
const wrapped = (type: z.ZodType): z.ZodType =>
  type instanceof z.ZodObject ? type : z.object({ value: type });

const cases = Object.entries(TYPES).flatMap(([name, type]) =>
  schemasOf(name, type).map(({ writers, schema, strict }) => ({ name, type, writers, schema, strict })),
);

test.each(cases)('$name, as $writers', ({ type, schema, strict }) => {
  checkJsonSchema(schema, 'schema', strict);
  const { gbnf, loosened } = compileSchema(JSON.stringify(schema), { param: 'schema', strict });
  expect(loosened).toEqual([]);
  const sampler = new GbnfSampler(gbnf);
  const random = new Random(SEED);
  const texts = Array.from({ length: 20 }, () => sampler.draw(random)).filter((text) => text !== null);
  expect(texts.length).toBeGreaterThan(10);
  const read = strict ? wrapped(type) : type;
  for (const text of texts) expect(read.safeParse(JSON.parse(text)).error?.message, text).toBeUndefined();
});

test('every writer is among them', () => {
  for (const writer of Object.keys(WRITERS))
    expect(cases.filter(({ writers }) => writers.includes(writer)).length).toBeGreaterThan(40);
});

/** Formats without a pattern that are not known: zod checks them in code. */
test.each([['jwt', z.jwt()]])('%s is refused by its place, or left out', (_, type) => {
  const schema = z.toJSONSchema(z.object({ a: type })) as Schema;
  const compile = (strict: boolean) => compileSchema(JSON.stringify(schema), { param: 'schema', strict });
  expect(() => compile(true)).toThrow('`schema.properties.a.format`');
  expect(compile(false).loosened).toEqual(['schema.properties.a.format']);
});
