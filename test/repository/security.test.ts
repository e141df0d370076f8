import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const text = readFileSync('SECURITY.md', 'utf8');

test('every claim of SECURITY.md names tests that exist', () => {
  const claims = text.split('\n').filter((line) => line.startsWith('| ') && line.includes('`test/'));
  expect(claims.length).toBeGreaterThan(10);
  const table = text.slice(text.indexOf('the test that proves it'), text.indexOf('## What it does not'));
  const rows = table.split('\n').filter((line) => line.startsWith('| ') && !/^\| (who|---)/.test(line));
  expect(rows).toEqual(claims);
  // Who, promise, test, bound: none is left out.
  for (const row of rows) expect(row.split('|').filter((cell) => cell.trim() !== '')).toHaveLength(4);
  const named = [...text.matchAll(/`((?:test|docs)\/[^`]+)`/g)].map(([, path = '']) => path);
  expect(named.filter((path) => !existsSync(path))).toEqual([]);
});
