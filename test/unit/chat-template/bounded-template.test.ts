import { expect, test, vi } from 'vitest';

import { BoundedTemplate } from '../../../src/chat-template/bounded-template.ts';
import { parseTemplate } from '../../../src/chat-template/template-nodes.ts';

const hello = { messages: [{ role: 'user', content: 'Hello' }] };

test('a template renders as it would without bounds', () => {
  const source =
    '{% macro twice(text) %}{{ text }}{{ text }}{% endmacro %}{% for m in messages %}{{ loop.index }}{{ twice(m.content) }}{% else %}none{% endfor %}{% for i in range(5, 0, -2) %}{{ i }}{% endfor %}';
  const template = new BoundedTemplate(source);
  const messages = [{ content: 'a' }, { content: 'b' }];
  expect(template.render({ messages })).toBe('1aa2bb531');
  expect(template.render({ messages: [] })).toBe('none531');
  expect(new BoundedTemplate('{{ me.range }}').render({ messages, me: { range: 7 } })).toBe('7');
});

test('a long conversation is within the bounds', () => {
  const messages = Array.from({ length: 5000 }, () => ({ role: 'user', content: 'x' }));
  const source = '{% for i in range(5) %}{% for m in messages %}{{ m.content }}{% endfor %}{% endfor %}';
  expect(new BoundedTemplate(source).render({ messages })).toHaveLength(25_000);
});

test('a long row of backslashes is written as JSON in linear time', () => {
  // Quadratic time would be some 8 minutes.
  const content = '\\'.repeat(600_000);
  const template = new BoundedTemplate('{{ messages[0].content | tojson(ensure_ascii=false) }}');
  expect(template.render({ messages: [{ content }] })).toBe(JSON.stringify(content));
});

const MANY = '{% for i in range(9999) %}';
const END = '{% endfor %}';
const STEPS = /more than the steps/;
const LONG = 'x'.repeat(50_000);
const RANGE = '{% set x = range(9999) %}';
/** Arrays in arrays, each twice: small in memory, and 2 ** 24 as a text. */
const doubled = "{% set a = ['x'] %}" + '{% set a = [a, a] %}'.repeat(24);
const objects = Array.from({ length: 24 }, (_, i) => i);
/** The same, by objects that are filled after the arrays around them were made. */
const filled =
  objects.map((i) => `{% set o${i} = namespace(x=1) %}{% set a${i} = [o${i}, o${i}] %}`).join('') +
  objects.map((i) => (i > 0 ? `{% set o${i - 1}.x = a${i} %}` : '')).join('');
test.each([
  ['loops', `${MANY.repeat(3)}x${END.repeat(3)}`, STEPS],
  ['makes ranges', `${MANY}{% set x = range(9999) %}${END}`, STEPS],
  ['counts', '{% for i in range(10 ** 12) %}x{% endfor %}', /range\(\) has more than/],
  ['counts down', '{% for i in range(0, -1000000000, -1) %}x{% endfor %}', /range\(\) has more than/],
  ['counts by nothing', '{% for i in range(0, 5, 0) %}x{% endfor %}', /range\(\) has more than/],
  ['calls itself', '{% macro f(n) %}{{ n and f(n - 1) ~ f(n - 1) }}{% endmacro %}{{ f(60) }}', STEPS],
  ['doubles a text', `{% set x = 'x' %}${'{% set x = x ~ x %}'.repeat(40)}`, /more than/],
  ['doubles an array', doubled, /more than/],
  ['writes what it filled later', `${filled}{{ a0 | string }}`, /more than/],
  ['shows what it filled later', `${filled}{{ a0 }}`, /more than/],
  ['joins what it filled later', `${filled}{% set x = 'a' ~ a0 %}`, /more than/],
  ['keeps large arrays', `${MANY}{% set x = range(5000) | sort %}${END}`, STEPS],
  ['waits for a word', `{% if 'Hello' in messages[-1].content %}${doubled}{% endif %}`, /more than/],
  ['joins by a long text', `{% set x = '${'x'.repeat(9999)}' %}{{ x.join(x) }}`, /more than/],
  ['maps', `${RANGE}${MANY}{% set y = x | map('abs') %}${END}`, STEPS],
  ['selects', `${RANGE}${MANY}{% set y = x | select('gt', 1) %}${END}`, STEPS],
  ['searches', `{% set x = '${LONG}' %}${MANY}{% set z = '${LONG.slice(9)}y' in x %}${END}`, STEPS],
  ['goes through a text', `{% for c in '${LONG}' %}${MANY}x${END}{% endfor %}`, /more than/],
  ['formats a date', `{{ strftime_now('${'%c'.repeat(51)}') }}`, /more than 100 characters/],
  ['splits', `{% set x = '${LONG}' %}${MANY}{% set z = x.split('x')[0] == '' %}${END}`, STEPS],
  ['is no template', '{% for %}', /./],
  ['has many spaces', `{{ messages[0].content }}${' '.repeat(100_000)}x`, /spaces in a row/],
  ['is long', 'x'.repeat(2 ** 20 + 1), /more than 1048576 characters/],
  ['refuses', "{{ raise_exception('no users') }}", /no users/],
  ...['91 + 2', '93', "'93' | int", "'-93' | int | abs", '-93', '93 in [93]'].map((written) => {
    const source = `{{ ${written.replaceAll('9', '900719925474099')} }}`;
    return [`rounds ${source}`, source, /beyond 2\^53/] satisfies [string, string, RegExp];
  }),
  ...[
    ["'%d' % 1", /"%" between/],
    ["'10' | int(0, 2)", /int with the argument 2/],
    ["'a' + 1", /concatenates/],
    ['1e3', /1e3/],
    ["'abc'[2:0:-1]", /backwards/],
    ['1 / 100000', /exponent/],
    ['messages | map("upper")', /generator .*"\| list"/],
    ['range', /function/],
    ['{} | tojson(2)', /tojson/],
    ['{} | tojson(indent=0)', /indent/],
    ['"a" | items', /no dictionary/],
    ['[1] | batch(2)', /batch/],
    ["'ab'.zfill(9)", /zfill/],
    ["'a' is lower", /lower/],
  ].map(([what, why]): [string, string, RegExp] => [`has ${what}`, `{{ ${what} }}`, why as RegExp]),
])('a template that %s is refused', (_, source, why) => {
  expect(() => new BoundedTemplate(source).render(hello)).toThrow(why);
});

test('a loop through a text goes through its characters, and is none through parts', () => {
  const image =
    "{% for m in messages %}{{ m.role }}:{% for part in m.content %}{% if part.type == 'image' %}<image>{% endif %}{% endfor %}{{ m.content }};{% endfor %}";
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Hi' },
  ];
  expect(new BoundedTemplate(image).render({ messages })).toBe('system:Be brief.;user:Hi;');
  // The characters of a long text would be as many rounds.
  const long = 'x'.repeat(50_000);
  const turns = Array.from({ length: 50 }, () => ({ role: 'user', content: long }));
  expect(new BoundedTemplate(image).render({ messages: turns })).toContain(long);
  const letters =
    '{% for m in messages %}{% for c in m.content %}{{ c }}{% if loop.last %}{{ loop.length }}{% endif %}{% endfor %}{% endfor %}';
  expect(new BoundedTemplate(letters).render({ messages: [{ content: 'Hé😀' }] })).toBe('Hé😀3');
});

test('a loop costs its rounds, however long the texts below it are', () => {
  // Looks through all later messages for each call, as templates of agents do.
  const source =
    "{% for m in messages %}{% for later in messages[loop.index:] %}{% if later.role == 'system' %}!{% endif %}{% endfor %}{{ m.content }}{% endfor %}";
  const messages = Array.from({ length: 200 }, () => ({ role: 'user', content: 'x'.repeat(2000) }));
  expect(new BoundedTemplate(source).render({ messages })).toHaveLength(400_000);
});

test('nested loops are analysed in time that grows with the template', () => {
  const visits = (depth: number): number => {
    // Each visit of a node reads its fields.
    const values = vi.spyOn(Object, 'values');
    const loops = Array.from({ length: depth }, (_, at) => `{% for item${at} in messages %}`);
    parseTemplate(loops.join('') + END.repeat(depth));
    const { length } = values.mock.calls;
    values.mockRestore();
    return length;
  };
  const few = visits(50);
  expect(few).toBeGreaterThan(50);
  expect(visits(200)).toBeLessThan(5 * few);
});

test('names of what every object has are no filters, tests or methods', () => {
  const expressions =
    "'a' | constructor;'a' is constructor('a');'a'.toString();['a'] | map('constructor');['a'] | select('toString');'a'.constructor('b')";
  for (const expression of expressions.split(';')) {
    const render = () => new BoundedTemplate(`{{ ${expression} }}`).render({ messages: [] });
    expect(render, expression).toThrow(Error);
  }
});

test('a template that takes parts alone gets the texts as parts', () => {
  const source =
    "{% for m in messages %}{{ m.role }}:{% for part in m['content'] %}{% if part['type'] == 'text' %}{{ part['text'] }}{% endif %}{% endfor %};{% endfor %}";
  const messages = [{ role: 'user', content: 'Hello' }];
  expect(new BoundedTemplate(source).render({ messages })).toBe('user:Hello;');
  // One that takes both gets texts.
  const both =
    '{% for m in messages %}{{ m.content if m.content is string else m.content[0].text }}{% endfor %}';
  expect(new BoundedTemplate(`${both}.`).render({ messages })).toBe('Hello.');
  // One that takes a text apart gets texts, although it shows whole parts, too.
  const cut =
    '{% for m in messages %}{{ m.content[:2] }}{{ m.content | first }}{{ m.content[0] }}{% endfor %}';
  expect(new BoundedTemplate(cut).render({ messages })).toBe('HeHH');
});
