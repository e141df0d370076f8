import { Random } from '../chaos/random.ts';

const FILTERS = [
  'upper',
  'string',
  'tojson',
  'list',
  'sort',
  'reverse',
  'join',
  "join(',')",
  'length',
  'trim',
  'title',
  'first',
  'last',
  'items',
  "replace('a', 'aaaa')",
  "map('upper')",
  "selectattr('role')",
  'indent(100)',
  'e',
  "map('replace', 'a', 'aaaa')",
  "select('in', a)",
  "rejectattr('role', 'eq', a)",
];
const NAMES = ['a', 'b', 'c', 'messages', 'messages[0].content', 'x.y', 'loop.index'];
const NUMBERS = [0, 1, 7, 24, 500, 9999, 10_000, 1e9];

/** A chat template that grows texts and lists, nests loops and calls macros as far as a few lines allow. */
export function hostileTemplate(seed: number, index: number): string {
  const random = new Random(seed * 1_000_003 + index);
  const number = (): number => random.pick(NUMBERS);
  const value = (depth: number): string => {
    const name = random.pick(NAMES);
    if (depth === 0) return name;
    const inner = (): string => value(depth - 1);
    return random.pick([
      () => name,
      () => `'${'a'.repeat(random.below(40))}'`,
      () => `range(${number()})`,
      () => `${inner()} ~ ${inner()}`,
      () => `${inner()} + ${inner()}`,
      () => `${inner()} * ${number()}`,
      () => `[${inner()}, ${inner()}]`,
      () => `{'k': ${inner()}, ${inner()}: 1}`,
      () => `(${inner()} | ${random.pick(FILTERS)})`,
      () => `${inner()}.split('')`,
      () => `${inner()}.find(${inner()})`,
      () => `${inner()}.join(${inner()})`,
      () => `${inner()}.strip(${inner()})`,
      () => `${inner()}.rsplit(${inner()}, ${number()})`,
      () => `'%s%d%s' % (${inner()}, ${number()}, ${inner()})`,
      () => `'ab' * ${number()}`,
      () => `${inner()}[::-1]`,
      () => `f(${inner()})`,
      () => `${inner()} in ${inner()}`,
    ])();
  };
  const statement = (depth: number): string => {
    const body = (): string =>
      depth === 0
        ? `{{ ${value(1)} }}`
        : Array.from({ length: 1 + random.below(3) }, () => statement(depth - 1)).join('');
    const variable = random.pick(['a', 'b', 'c']);
    return random.pick([
      () => `{% for ${variable} in ${value(2)} %}${body()}{% endfor %}`,
      () => `{% for ${variable} in range(${number()}) %}${body()}{% endfor %}`,
      () => `{% set ${variable} = ${value(3)} %}`,
      () => `{% set ${variable} = ${variable} ~ ${variable} %}`.repeat(1 + random.below(40)),
      () => `{% set ${variable} = [${variable}, ${variable}] %}`.repeat(1 + random.below(40)),
      () => `{% set x.y = ${value(2)} %}`,
      () => `{% if ${value(2)} %}${body()}{% else %}${body()}{% endif %}`,
      () => `{% macro f(a) %}${body()}{{ f(a) }}{{ f(a) }}{% endmacro %}`,
      () => `{{ ${value(3)} }}`,
      () => ' '.repeat(random.below(900)),
    ])();
  };
  const statements = Array.from({ length: 1 + random.below(6) }, () => statement(3)).join('');
  return `{% set x = namespace(y='a') %}{% set a = 'a' %}{% set b = ['b'] %}{% set c = 1 %}${statements}`;
}
