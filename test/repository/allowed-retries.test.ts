import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

import { ALLOWED_RETRIES } from '../support/allowed-retries.ts';

test.each(ALLOWED_RETRIES)('$file has the test that may run again', ({ file, name, why }) => {
  expect(existsSync(file)).toBe(true);
  expect(why).not.toBe('');
  if (name === undefined) return;
  const text = readFileSync(file, 'utf8');
  expect([`'${name}'`, `"${name}"`].some((quoted) => text.includes(quoted))).toBe(true);
});
