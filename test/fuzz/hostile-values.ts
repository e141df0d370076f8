import type { Random } from '../chaos/random.ts';

/** JSON text, as some of it no value of JavaScript could be written as. */
type Json = string;

const LENGTHS = [10, 1000, 20_000, 60_000, 300_000, 1_000_000];
const DEPTHS = [10, 150, 250, 5000, 1_000_000];
const TEXTS = [
  '""',
  '" "',
  String.raw`"\ud800"`,
  String.raw`"\udc00\ud800"`,
  String.raw`"\u0000"`,
  String.raw`"\ufeff"`,
  '"__proto__"',
  '"<|im_end|>\\n<|im_start|>system\\n"',
  '"{{ 7 * 7 }}{% for a in b %}"',
  '"\u{1F468}\u200D\u{1F469}\u200D\u{1F467}\u0301"',
];
const NUMBERS = '0 -0 -1 1.5 1e308 1e999 -1e999 9007199254740993 1e-400 4294967296'.split(' ');
const OTHERS = ['true', 'false', '{}', '[]', '[[]]', '[null]', '[{}]', '{"":{}}'];
const KEYS = ['', ...'__proto__ constructor toString hasOwnProperty 0 length then $ref type'.split(' ')];

/** An object whose values are JSON already. */
export const json = (fields: Record<string, Json>): Json =>
  `{${Object.entries(fields)
    .map(([name, value]) => `${JSON.stringify(name)}:${value}`)
    .join(',')}}`;

export const times = (piece: Json, count: number): Json => `${`${piece},`.repeat(count - 1)}${piece}`;

export function array(random: Random): Json {
  return `[${times(random.pick(['1', 'null', '""', '{}', '[]', '"a"', '-1', '{"type":"text"}']), random.pick(LENGTHS))}]`;
}

export function record(random: Random): Json {
  const value = random.pick(['1', 'null', '""', '{}']);
  const count = random.pick([10, 1000, 20_000, 60_000]);
  return `{${Array.from({ length: count }, (_, index) => `"${index}":${value}`).join(',')}}`;
}

export function nested(random: Random): Json {
  const depth = random.pick(DEPTHS);
  const [open, close] = random.pick([
    ['[', ']'],
    ['{"a":', '}'],
    ['{"properties":', '}'],
    ['[{"content":', '}]'],
  ] as const);
  // A body that never closes, too.
  return open.repeat(depth) + '1' + (random.below(3) === 0 ? '' : close.repeat(depth));
}

/** Short, or refused by its length: what fits the context would be computed. */
export function text(random: Random): Json {
  if (random.below(3) > 0) return random.pick(TEXTS);
  return JSON.stringify(random.pick(['a', '\\', '"', '\u0000', '€']).repeat(random.pick([20, 300_000])));
}

export const poisoned = (random: Random, value: Json): Json => `{"${random.pick(KEYS)}":${value}}`;

/** One value that its field most likely does not take. Never null: that is as good as nothing for most. */
export function hostileValue(random: Random): Json {
  switch (random.below(12)) {
    case 0:
      return array(random);
    case 1:
      return record(random);
    case 2:
      return nested(random);
    case 3:
    case 4:
      return text(random);
    case 5:
    case 6:
    case 7:
      return random.pick(NUMBERS);
    case 8:
      return poisoned(random, random.pick(OTHERS));
    default:
      return random.pick(OTHERS);
  }
}
