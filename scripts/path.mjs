// Sends one streamed chat in a browser, and writes the files whose functions it runs into docs/architecture.md.
import { readFileSync, writeFileSync } from 'node:fs';
import { runnerImport } from 'vite';

const DOCUMENT = 'docs/architecture.md';
const LIST = /(<!-- npm run path -->\n)[^]*?(<!-- end -->)/;

const { module } = await runnerImport('/tools/bench/path/way.ts', { configFile: false, logLevel: 'warn' });
const way = await module.measureWay();
const text = readFileSync(DOCUMENT, 'utf8');
writeFileSync(
  DOCUMENT,
  text.replace(LIST, (_all, begin, end) => `${begin}\n${module.describeWay(way)}${end}`),
);
console.log(`${module.filesOf(way).length} files, ${way.iterators.length} async iterators a token:`);
for (const each of way.iterators) console.log(`  ${each}`);
process.exit(0);
