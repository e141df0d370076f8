import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { ERROR_GROUPS, ERRORS } from '../../../../scripts/error-documentation.ts';

const sources = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name) && !name.endsWith('error-codes.ts'))
  .map((name) => readFileSync(join('src', name), 'utf8'));

test('every documented code is in one group, and used by the code', () => {
  const codes = Object.values(ERROR_GROUPS).flatMap((group) => Object.keys(group));
  expect(codes.toSorted()).toEqual(Object.keys(ERRORS).toSorted());
  expect(codes.filter((code) => !sources.some((text) => text.includes(`'${code}'`)))).toEqual([]);
});
