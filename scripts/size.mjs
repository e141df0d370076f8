// What a site loads for localtext, gzipped, beside the sizes of the last release. Run it after `npm run prepack`. A growth by
// more than a tenth fails: such a file has a module that it does not need. `--record` writes the sizes of a release.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';

const RECORD = 'scripts/sizes.json';
const MAX_GROWTH = 1.1;
const STATIC = 'dist/static/localtext';
/** The playground's build, by `npm run build`. */
const PLAYGROUND = 'dist/site/assets';

const chunk = (folder, name) =>
  join(
    folder,
    readdirSync(folder).find((file) => file.startsWith(`${name}-`) && file.endsWith('.js')) ?? name,
  );
const imported = closure(join(STATIC, 'localtext.js'));
const parts = {
  'page library, as imported': imported,
  // A tab that also runs the engine fetches the database's script, and Comlink.
  'page library, with what start() fetches in every tab': [
    ...new Set([...imported, ...closure(chunk(STATIC, 'database'))]),
  ],
  'service worker': ['dist/static/localtext-sw.js'],
  'service worker with servers': ['dist/static/localtext-sw-servers.js'],
  ...(existsSync(PLAYGROUND) && { "playground's first script": [chunk(PLAYGROUND, 'index')] }),
};

const recorded = JSON.parse(readFileSync(RECORD, 'utf8'));
const sizes = {};
for (const [what, files] of Object.entries(parts)) {
  const bytes = files.reduce((sum, path) => sum + gzipSync(readFileSync(path), { level: 9 }).length, 0);
  sizes[what] = bytes;
  const before = recorded[what] ?? bytes;
  const grown = bytes > before * MAX_GROWTH;
  if (grown) process.exitCode = 1;
  const change = `${bytes < before ? '−' : '+'}${(Math.abs(bytes - before) / 1000).toFixed(1)}`;
  console.log(`${what}: ${(bytes / 1000).toFixed(1)} KB gzipped, ${change} KB${grown ? ': TOO MUCH' : ''}`);
}
if (process.argv.includes('--record'))
  writeFileSync(RECORD, `${JSON.stringify({ ...recorded, ...sizes }, null, 2)}\n`);

/** A module and all that it imports before it runs. */
function closure(entry, seen = new Set()) {
  if (seen.has(entry)) return [...seen];
  seen.add(entry);
  const code = readFileSync(entry, 'utf8');
  for (const [, target] of code.matchAll(
    /(?:^|[;}\n])(?:import|export)\s*(?:[\w*{][^;'"`()]*?from)?\s*["'`](\.[^"'`]+)["'`]/g,
  ))
    closure(join(dirname(entry), target), seen);
  return [...seen];
}
