import { Marked } from 'marked';
import { expect, test } from 'vitest';

import { isRenderable } from '../../../../playground/markdown/markdown-bounds.ts';
import { stepsOf } from '../../../support/steps-of.ts';

const nested = Array.from({ length: 400 }, (_, depth) => `${' '.repeat(2 * depth)}- a`).join('\n');

test.each([
  ['3,000 quote marks', '>'.repeat(3000)],
  ['3,000 list marks in one line', '- '.repeat(3000)],
  ['quotes and lists in turn', '> 1. '.repeat(500)],
  ['a list 400 deep', nested],
  ['one line of 1 MB', 'a'.repeat(1_000_000)],
  ['100,000 list items', '- a\n'.repeat(100_000)],
  ['a table of a million cells', `${'|a'.repeat(1000)}|\n${'|-'.repeat(1000)}|\n${'|\n'.repeat(1000)}`],
  ['brackets that never end', '['.repeat(5000)],
])('%s is shown as plain text', (_name, text) => {
  expect(isRenderable(text)).toBe(false);
});

test.each([
  [
    'prose with a list, a table, code and a quote',
    '# A\n\n10. b\n    - c\n\n|a|b|\n|-|-|\n|1|2|\n\n```js\nx[0]\n```\n\n> d',
  ],
  ['deep code', `\`\`\`\n${' '.repeat(60)}x = 1\n\`\`\``],
  ['a rule of dashes', '- - - - - - - -'],
  ['a long reply', 'Some words of a sentence, with *emphasis*.\n\n'.repeat(900)],
])('%s is rendered', (_name, text) => {
  expect(isRenderable(text)).toBe(true);
});

test('what is just within the bounds is parsed without an overflow, in few steps', async () => {
  const marked = new Marked({ gfm: true });
  const texts = [
    '> '.repeat(32) + 'a',
    Array.from({ length: 1999 }, (_, line) => `${' '.repeat(line % 30)}- a`).join('\n'),
    '*a '.repeat(1900),
    '[a]('.repeat(900),
    '**_'.repeat(300) + 'a' + '_**'.repeat(300),
    'a@'.repeat(25_000),
  ];
  for (const text of texts) {
    expect(isRenderable(text)).toBe(true);
    expect(await stepsOf(() => marked.parser(marked.lexer(text)))).toBeLessThan(1e6);
  }
});
