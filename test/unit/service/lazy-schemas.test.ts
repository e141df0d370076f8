import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

/** A static import of a value. */
const IMPORT = /^(?:import|export) (?!type )(?:[^;']*? from )?'([^']+)';/gms;

test('no schema is evaluated before a request needs it: that would be most of a start of the service worker', async () => {
  const files = ['src/service/service.ts'];
  const schemas: string[] = [];
  for (const file of files) {
    const text = await readFile(file, 'utf8');
    for (const [, name = ''] of text.matchAll(IMPORT)) {
      if (name === '#base/zod') schemas.push(file);
      const imported = join(dirname(file), name);
      if (name.startsWith('.') && !files.includes(imported)) files.push(imported);
    }
  }
  expect(files.length).toBeGreaterThan(30);
  expect(schemas).toEqual([]);
});
