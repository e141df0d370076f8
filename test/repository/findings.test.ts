import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

/** Of each kind of finding, how many there are. */
const FINDINGS = { S: 17, A: 14, B: 6, T: 8 };

const rows = new Map<string, string[]>();
for (const line of readFileSync('test/README.md', 'utf8').split('\n')) {
  const [, id] = /^\| ([A-Z]\d+) /.exec(line) ?? [];
  if (id === undefined) continue;
  const cell = line.split('|').at(-2) ?? '';
  rows.set(
    id,
    [...cell.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path),
  );
}

test('test/README.md has every finding', () => {
  for (const [kind, count] of Object.entries(FINDINGS))
    for (let number = 1; number <= count; number++) expect([...rows.keys()]).toContain(kind + number);
});

test.each([...rows])('the tests of %s are there', (_id, paths) => {
  expect(paths).not.toEqual([]);
  expect(paths.filter((path) => !path.endsWith('.test.ts') || !existsSync(join('test', path)))).toEqual([]);
});
