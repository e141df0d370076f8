import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';

import { LONGEST } from '../support/longest-first.ts';

test('the files that run first are there', () => {
  expect(LONGEST.filter((name) => !existsSync(name))).toEqual([]);
});
