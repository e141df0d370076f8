import { expect, test } from 'vitest';

import { BoundedTemplate, templateFault } from '../../../../src/worker/prompt/chat-prompt.ts';

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

const TEN = '{% for i in range(9999) %}';
test.each([
  ['loops', `${TEN}${TEN}${TEN}x{% endfor %}{% endfor %}{% endfor %}`, /more than 20020 steps/],
  ['counts', '{% for i in range(10 ** 12) %}x{% endfor %}', /range\(\) has more than/],
  ['counts down', '{% for i in range(0, -1000000000, -1) %}x{% endfor %}', /range\(\) has more than/],
  ['counts by nothing', '{% for i in range(0, 5, 0) %}x{% endfor %}', /range\(\) has more than/],
  [
    'calls itself',
    '{% macro f(n) %}{% if n > 0 %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}',
    /more than 20020 steps/,
  ],
  ['is no template', '{% for %}', /cannot be used/],
  ['refuses', "{{ raise_exception('no users') }}", /no users/],
])('a template that %s is refused', (_, source, why) => {
  expect(templateFault(source)).toMatch(why);
});

test('a model without one has nothing to refuse', () => {
  expect(templateFault(null)).toBeUndefined();
});

test('a template that takes parts alone gets the texts as parts', () => {
  const source =
    "{% for m in messages %}{{ m.role }}:{% for part in m['content'] %}{% if part['type'] == 'text' %}{{ part['text'] }}{% endif %}{% endfor %};{% endfor %}";
  const messages = [{ role: 'user', content: 'Hello' }];
  expect(new BoundedTemplate(source).render({ messages })).toBe('user:Hello;');
  expect(templateFault(source)).toBeUndefined();
  // One that takes both gets texts.
  const both =
    '{% for m in messages %}{{ m.content if m.content is string else m.content[0].text }}{% endfor %}';
  expect(new BoundedTemplate(`${both}.`).render({ messages })).toBe('Hello.');
});
