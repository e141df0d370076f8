import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const TYPE = 'error-codes.ts';
const codesOf = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, code]) => code);
const codes = codesOf(readFileSync(join('src/protocol', TYPE), 'utf8'), /^ {2}\| '(\w+)'/gm);

test('docs/errors.md has a row for every code, in the order of the type, and no other', () => {
  const rows = codesOf(
    readFileSync('docs/errors.md', 'utf8'),
    /^\| `(\w+)` +\| +(?:[345]\d\d|–) +\| \S.*\| \S.*\|$/gm,
  );
  expect(codes.length).toBeGreaterThan(50);
  expect(rows).toEqual(codes);
});

test('every code is used by the code', () => {
  const sources = readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name) && !name.endsWith(TYPE) && !name.startsWith('playground'))
    .map((name) => readFileSync(join('src', name), 'utf8'));
  expect(codes.filter((code) => !sources.some((text) => text.includes(`'${code}'`)))).toEqual([]);
});
