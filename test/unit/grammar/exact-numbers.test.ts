import { describe, expect, test } from 'vitest';

import { ServiceError } from '../../../src/base/errors/service-error.ts';
import { compileSchema } from '../../../src/grammar/compile-schema.ts';
import { readJson, writeJson } from '../../../src/base/exact-json.ts';
import { Random } from '../../chaos/random.ts';
import { exactText } from '../../support/grammar/exact-texts.ts';
import { GbnfSampler } from '../../support/grammar/sample-gbnf.ts';

/** Numbers of schemas keep their text: JavaScript would round them, or write them differently. */

const SEED = 20_261_128;

const compile = (schema: string) => compileSchema(schema, { param: 'schema', strict: true });

/** Texts that the grammar of a schema allows, without the spaces between tokens. */
function draws(schema: string, count = 40): Set<string> {
  const sampler = new GbnfSampler(compile(schema).gbnf);
  const random = new Random(SEED);
  const texts = Array.from({ length: count }, () => sampler.draw(random)).filter((text) => text !== null);
  return new Set(texts.map((text) => writeJson(readJson(text))));
}

const VALUES = [
  '2512292042121000001',
  '-9223372036854775808',
  '18446744073709551615',
  '1.0',
  '1.10',
  '-0',
  '-0.0',
  '1e400',
  '-1E-400',
  '1e99999999999',
  '0.1000000000000000055511151231257827021181583404541015625',
  '123456789012345678901234567890.5',
  '{"2":1.0,"1":[2512292042121000003],"a":{"10":null,"9":-0}}',
];

test.each(VALUES)('const %s', (value) => {
  expect(draws(`{"const": ${value}}`)).toEqual(new Set([value]));
});

test('the values of an enum are told apart, and equal ones are one', () => {
  const values = '[2512292042121000001, 2512292042121000003, 1.0, 1, 1e0, {"a": 1.0}, {"a": 1}]';
  expect(draws(`{"enum": ${values}}`, 100)).toEqual(
    new Set(['2512292042121000001', '2512292042121000003', '1.0', '{"a":1.0}']),
  );
});

test('values are compared exactly', () => {
  const both = [
    '{"enum": [2512292042121000001, 2512292042121000002]}',
    '{"enum": [2512292042121000000, 25122920421210000010e-1]}',
  ];
  expect(draws(`{"allOf": [${both.join()}]}`)).toEqual(new Set(['2512292042121000001']));
  expect(draws('{"enum": [1.0, 1.5, 2e3, 1e-1], "type": "integer"}')).toEqual(new Set(['1.0', '2e3']));
  expect(draws('{"enum": [0.3, 0.35, 9007199254740993, 1e30], "multipleOf": 0.1}')).toEqual(
    new Set(['0.3', '9007199254740993', '1e30']),
  );
});

test('members keep their order', () => {
  const member = '{"const": 1}';
  const schema = `{"type": "object", "properties": {"b": ${member}, "2": ${member}, "1": ${member}}, "required": ["1", "2", "b"], "additionalProperties": false}`;
  expect(draws(schema)).toEqual(new Set(['{"b":1,"2":1,"1":1}']));
});

describe('bounds', () => {
  const tens = (zeros: number): string => `1${'0'.repeat(zeros)}`;

  test.each([
    ['integer', '"minimum": 9007199254740993, "maximum": 9007199254740993', ['9007199254740993']],
    [
      'integer',
      '"exclusiveMinimum": -9223372036854775809, "maximum": -9223372036854775807',
      ['-9223372036854775808', '-9223372036854775807'],
    ],
    ['integer', '"minimum": 1e22, "exclusiveMaximum": 10000000000000000000001', [tens(22)]],
    ['integer', '"minimum": 5.0, "maximum": 0.6e1', ['5', '6']],
    [
      'integer',
      '"multipleOf": 5e18, "minimum": 1, "maximum": 1.0E19',
      [tens(18).replace('1', '5'), tens(19)],
    ],
    [
      'number',
      '"multipleOf": 0.25, "allOf": [{"multipleOf": 0.1}], "minimum": 0.5, "maximum": 0.9',
      ['0.50'],
    ],
    // Digits beyond those of the bounds.
    ['integer', '"exclusiveMinimum": 99999999999999999999, "maximum": 1e20', [tens(20)]],
    ['integer', '"multipleOf": 1e25, "minimum": 1, "maximum": 1.5e25', [tens(25)]],
    [
      'number',
      '"exclusiveMinimum": 0.1234567, "exclusiveMaximum": 0.1234568',
      Array.from({ length: 9 }, (_, digit) => `0.1234567${digit + 1}`),
    ],
    ['integer', '"format": "int64", "exclusiveMinimum": 9223372036854775806', ['9223372036854775807']],
    ['integer', '"format": "uint64", "minimum": 18446744073709551615', ['18446744073709551615']],
  ])('of %s: %s', (type, bounds, allowed) => {
    expect(draws(`{"type": "${type}", ${bounds}}`)).toEqual(new Set(allowed));
  });

  test.each(['minimum', 'exclusiveMinimum'])('a %s beyond all numbers is refused by its place', (keyword) => {
    expect(() => compile(`{"type": "number", "${keyword}": 1e400}`)).toThrow(ServiceError);
    expect(() => compile(`{"type": "number", "${keyword}": 1e400}`)).toThrow(`schema.${keyword}`);
    expect(draws(`{"type": "integer", "${keyword}": -1e400}`).size).toBeGreaterThan(10);
  });

  /** A decimal in units of 10^-60. */
  const scaled = (text: string): bigint => {
    const [, sign = '', whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
    return BigInt(`${sign}${whole}${fraction.padEnd(60, '0')}`);
  };
  const decimal = (random: Random, places: number): string => {
    const digits = (count: number) => Array.from({ length: count }, () => random.below(10)).join('');
    return `${random.pick(['', '-'])}${1 + random.below(9)}${digits(random.below(30))}${places ? `.${digits(places)}1` : ''}`;
  };

  test('of 60 ranges of long numbers, each number is within', () => {
    const random = new Random(SEED);
    for (let index = 0; index < 60; index++) {
      const places = random.pick([0, 0, 1, 18]);
      const [low = '', high = ''] = [decimal(random, places), decimal(random, places)].toSorted((a, b) =>
        scaled(a) < scaled(b) ? -1 : 1,
      );
      const [lower, upper] = [
        random.pick(['minimum', 'exclusiveMinimum']),
        random.pick(['maximum', 'exclusiveMaximum']),
      ];
      const schema = `{"type": "${places ? 'number' : 'integer'}", "${lower}": ${low}, "${upper}": ${high}}`;
      const texts = draws(schema, 20);
      expect(texts.size, schema).toBeGreaterThan(0);
      for (const text of texts) {
        expect(scaled(text) >= scaled(low) && scaled(text) <= scaled(high), `${schema}: ${text}`).toBe(true);
        expect(text === low && lower !== 'minimum', `${schema}: ${text}`).toBe(false);
        expect(text === high && upper !== 'maximum', `${schema}: ${text}`).toBe(false);
      }
    }
  });
});

test('an integer without bounds has 64 bits, and an end', () => {
  const texts = [...draws('{"type": "integer"}', 400)].map((text) => text.replace('-', '').length);
  expect(Math.max(...texts)).toBeLessThanOrEqual(20);
  const { gbnf } = compile('{"type": "integer"}');
  expect(gbnf).toContain('[0-9]{0,19}');
});

test('60 generated values are written as they were sent', () => {
  const random = new Random(SEED);
  for (let index = 0; index < 60; index++) {
    const value = exactText(random);
    expect(draws(`{"const": ${value}}`, 3)).toEqual(new Set([value]));
  }
});
