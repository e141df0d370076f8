import { expect, test } from 'vitest';

import { copyJson, placeOfFault, readJson, restoreExact, writeJson } from '../../../src/base/exact-json.ts';
import { Random } from '../../chaos/random.ts';
import { exactText } from '../../support/grammar/exact-texts.ts';

const SEED = 20_261_128;

/** Spreads white space over a JSON text without strings that have brackets. */
const spaced = (text: string, random: Random): string =>
  text.replaceAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]/g, (token) =>
    token.length > 1 ? token : ` ${token}${random.pick([' ', '\n', '\t\r\n', ''])}`,
  );

test('a text that is read and written is the same', () => {
  const random = new Random(SEED);
  for (let index = 0; index < 2000; index++) {
    const text = exactText(random);
    const value = readJson(spaced(text, random));
    expect(writeJson(value)).toBe(text);
    expect(writeJson(copyJson(value))).toBe(text);
  }
});

test('values are those of JSON.parse', () => {
  const random = new Random(SEED);
  const plain = (value: unknown): unknown => JSON.parse(writeJson(value));
  for (let index = 0; index < 500; index++) {
    const text = exactText(random);
    expect(plain(readJson(text))).toEqual(JSON.parse(text));
  }
  expect(readJson('[1, 1.5, -3, 1e+21, "1.0", true, null]')).toEqual([1, 1.5, -3, 1e21, '1.0', true, null]);
});

test('of several members of one name the last counts', () => {
  expect(writeJson(readJson('{"2":1,"1":0,"2":3.0,"a":{"a":1},"a":[]}'))).toBe('{"2":3.0,"1":0,"a":[]}');
});

const PLACES = { a: { '*': { b: true } }, c: true } as const;

function restored(text: string): string {
  const parsed = JSON.parse(text) as object;
  restoreExact(text, parsed, PLACES);
  return writeJson(parsed);
}

test.each([
  [
    '{"x":1.0,"a":[{"b":{"n":1.0}},{"y":2.0},{"b":[1e2]}],"c":{"2":1,"1":-0}}',
    '{"x":1,"a":[{"b":{"n":1.0}},{"y":2},{"b":[1e2]}],"c":{"2":1,"1":-0}}',
  ],
  // Not the kind of value that has the place.
  ['{"a":{"b":{"n":1.0}},"c":1.0}', '{"a":{"b":{"n":1}},"c":1}'],
  ['{"a":[[{"b":[1.0]}],3,null,"]",{"b":1.0}],"c":null}', '{"a":[[{"b":[1]}],3,null,"]",{"b":1}],"c":null}'],
  // Names twice: the last value, and nothing of the first.
  ['{"a":[{"b":[1.0]}],"a":[{"n":1.0}]}', '{"a":[{"n":1}]}'],
  ['{"a":[{"b":[1.0]},{"b":[2.0]}],"a":[{"b":[3.0]}]}', '{"a":[{"b":[3.0]}]}'],
  ['{"c":[1.0],"c":{"m":2.0}}', '{"c":{"m":2.0}}'],
  ['{"c":[1.0],"c":[1]}', '{"c":[1]}'],
  ['{"c":{"m":2.0},"c":1.0}', '{"c":1}'],
  ['{"c":"x","c":{"m":2.0}}', '{"c":{"m":2.0}}'],
  ['{"a":["x",[1]],"a":[{"b":[1.0]},{"b":[2.0]}]}', '{"a":[{"b":[1.0]},{"b":[2.0]}]}'],
  // Brackets, quotes and escapes in what is skipped, and a name that is written with an escape.
  ['{"x":"[{\\"\\\\","y":{"}":["\\"]"]},"\\u0063":[1.0]}', '{"x":"[{\\"\\\\","y":{"}":["\\"]"]},"c":[1.0]}'],
  ['{"__proto__":[1.0],"constructor":[1.0],"c":[1.0]}', '{"__proto__":[1],"constructor":[1],"c":[1.0]}'],
])('places of %s', (text, expected) => {
  expect(restored(text)).toBe(expected);
  expect(restored(spaced(text, new Random(SEED)))).toBe(expected);
});

test.each([
  ['{"a":1,}', 1, 8],
  ['{"a":[1,]}', 1, 9],
  ["{'a':1}", 1, 2],
  ['{a:1}', 1, 2],
  ['{"a" 1}', 1, 6],
  ['{"a":1 "b":2}', 1, 8],
  ['{"a":NaN}', 1, 6],
  ['{"a":01}', 1, 6],
  ['{"a":"\t"}', 1, 6],
  ['{"a":"\\x"}', 1, 6],
  ['{"a":"x', 1, 6],
  ['{\n  "a": [1, 2\n', 3, 1],
  ['{\r\n  "a":\u00a01}', 2, 7],
  ['{"a":1} x', 1, 9],
  ['{"a":1]', 1, 7],
  ['', 1, 1],
])('the first fault of %j is at %i:%i', (text, line, column) => {
  expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError);
  expect(placeOfFault(text)).toEqual({ line, column });
});
