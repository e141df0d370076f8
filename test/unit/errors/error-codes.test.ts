import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { ERROR_GROUPS } from '../../../src/errors/error-codes.ts';

const TABLE = 'error-codes.ts';
const sources = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name) && !name.endsWith(TABLE) && !name.startsWith('playground'))
  .map((name) => ({ name, text: readFileSync(join('src', name), 'utf8') }));

test('every documented code is used by the code', () => {
  const codes = Object.values(ERROR_GROUPS).flatMap((group) => Object.keys(group));
  expect(new Set(codes).size).toBe(codes.length);
  expect(codes.filter((code) => !sources.some(({ text }) => text.includes(`'${code}'`)))).toEqual([]);
});

test('no program imports more than the type: the table is too long for a bundle', () => {
  const imports = sources.flatMap(({ name, text }) =>
    [...text.matchAll(/^(?:import|export) .*error-codes\.ts';$/gm)].map(([line]) => ({ name, line })),
  );
  expect(imports.length).toBeGreaterThan(3);
  for (const { name, line } of imports) expect(line, name).toMatch(/^(import|export) type \{ ErrorCode \}/);
});
