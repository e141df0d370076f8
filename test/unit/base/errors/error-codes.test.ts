import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const CODES = 'src/base/errors/error-codes.ts';
const codes = [...readFileSync(CODES, 'utf8').matchAll(/^ {2}\| '(\w+)'/gm)].map(([, code]) => code);

test('docs/errors.md has a row for each code', () => {
  const [, ...tables] = readFileSync('docs/errors.md', 'utf8').split('\n## The request\n');
  const documented = [...tables.join().matchAll(/^\| `(\w+)`/gm)].map(([, code]) => code);
  expect(documented.toSorted()).toEqual(codes.toSorted());
});

test('each code is used', () => {
  const sources = readdirSync('src', { recursive: true, encoding: 'utf8' })
    .map((name) => join('src', name))
    .filter((path) => /\.tsx?$/.test(path) && path !== CODES)
    .map((path) => readFileSync(path, 'utf8'));
  expect(codes.filter((code) => !sources.some((text) => text.includes(`'${code}'`)))).toEqual([]);
});
