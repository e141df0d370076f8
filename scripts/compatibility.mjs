// Writes the tables of docs/compatibility.md from the schemas of the service. With `--check` fails when they are out of date.
import { readFileSync, writeFileSync } from 'node:fs';

import { loadModule } from './lib/load-module.mjs';

const DOCUMENT = 'docs/compatibility.md';
const { withTables } = await loadModule('/scripts/compatibility.ts');
const text = readFileSync(DOCUMENT, 'utf8');
const current = await withTables(text);
if (!process.argv.includes('--check')) writeFileSync(DOCUMENT, current);
else if (current !== text) {
  console.error(`${DOCUMENT} is out of date. Run: node scripts/compatibility.mjs`);
  process.exitCode = 1;
}
