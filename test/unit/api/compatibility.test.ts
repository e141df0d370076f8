import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { compatibilityDocument } from '../../../scripts/compatibility.ts';

test('docs/compatibility.md is what the code decides', async () => {
  const written = await readFile(new URL('../../../docs/compatibility.md', import.meta.url), 'utf8');
  expect(written, 'run `node scripts/compatibility.mjs`').toBe(compatibilityDocument());
});
