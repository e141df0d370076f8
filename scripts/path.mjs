// Sends one streamed chat in a browser, and writes the files whose functions it runs into docs/architecture.md.
import { readFileSync, writeFileSync } from 'node:fs';

import { loadModule } from './lib/load-module.mjs';

const DOCUMENT = 'docs/architecture.md';
const LIST = /(<!-- npm run path -->\n)[^]*?(<!-- end -->)/;

const { describeWay, filesOf, measureWay, needlessOf } = await loadModule('/tools/bench/path/way.ts');
const way = await measureWay();
const text = readFileSync(DOCUMENT, 'utf8');
writeFileSync(
  DOCUMENT,
  text.replace(LIST, (_all, begin, end) => `${begin}\n${describeWay(way)}\n${end}`),
);
console.log(`${filesOf(way).length} files, ${way.iterators.length} async iterators a token:`);
for (const each of way.iterators) console.log(`  ${each}`);
const needless = needlessOf(way);
console.log(
  `${needless.length} files of abilities that the chat does not use${needless.length > 0 ? ':' : '.'}`,
);
for (const each of needless) console.log(`  ${each}`);
process.exit(0);
