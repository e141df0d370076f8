// Limits the number of pages in docs/decisions, and their length.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = 'docs/decisions';
const MAX_PAGES = 12;
const MAX_LINES = 60;

const pages = readdirSync(FOLDER);
const faults = pages.flatMap((page) => {
  const path = join(FOLDER, page);
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n').length;
  return lines > MAX_LINES ? [`${path} has ${lines} lines. The limit is ${MAX_LINES}: shorten it.`] : [];
});
if (pages.length > MAX_PAGES)
  faults.push(
    `${FOLDER} has ${pages.length} pages. The limit is ${MAX_PAGES}: merge those that decide one thing.`,
  );

for (const fault of faults) console.error(fault);
process.exitCode = faults.length > 0 ? 1 : 0;
