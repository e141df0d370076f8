import { expect, test } from 'vitest';
import { fetchText, ok } from '../../../../../src/node/cli/doctor/answers.ts';
import { policiesOf } from '../../../../../src/node/cli/doctor/page.ts';
import { serveSite } from './broken-site.ts';

// Half a minute, where each tag was searched for its end to the end of the page.
test('tags without an end are read once', () => {
  expect(policiesOf(new Headers(), '<meta '.repeat(300_000))).toEqual([]);
});

test('the beginning of a large page is read', async () => {
  const url = await serveSite({ '/': { body: 'a'.repeat(20_000_000) } });
  const { text } = await fetchText(new URL(url));
  expect(text.length).toBeLessThan(4_000_000);
});

test('what a server says has no control characters, and is cut', () => {
  const { text } = ok(`a\u001b[2Jb\u009bc ${'d'.repeat(5000)}`);
  expect(text).toMatch(/^a \[2Jb c d{900,}…$/);
  expect(text.length).toBeLessThanOrEqual(1000);
});
