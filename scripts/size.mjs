// What a site loads for localtext, gzipped, against its budgets; `--json`: for other programs. After
// `npm run build:lib`.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';

const KB = 1000;
const built = readdirSync('dist/static/localtext');
const chunk = (name) =>
  join('dist/static/localtext', built.find((file) => file.startsWith(`${name}-`)) ?? name);
const imported = closure('dist/static/localtext/localtext.js');
const budgets = [
  // It keeps the engine through scripts that steal its Web Locks, and says that its build is gone where nothing more can be
  // fetched.
  { what: 'page library, as imported', files: imported, kilobytes: 10.6 },
  // A tab that also runs the engine fetches that, and Comlink, besides.
  {
    what: 'page library, with what start() fetches in every tab',
    files: [...new Set([...imported, ...closure(chunk('database'))])],
    kilobytes: 13,
  },
  // It answers seven endpoints, refuses fields of other servers by name, counts without storage, remembers which pages
  // isolation breaks, and finds calls of tools after sentences of any script. The browser fetches it after the page has loaded.
  { what: 'service worker', files: ['dist/static/localtext-sw.js'], kilobytes: 56.1 },
  // For sites that name servers: their answers are bounded by what was asked for, and checked value by value before they are
  // parsed.
  { what: 'service worker with servers', files: ['dist/static/localtext-sw-servers.js'], kilobytes: 65.5 },
];

const measured = budgets.map(({ what, files, kilobytes }) => ({
  what,
  kilobytes,
  bytes: files.reduce((sum, path) => sum + gzipSync(readFileSync(path), { level: 9 }).length, 0),
}));
const fits = ({ bytes, kilobytes }) => bytes <= kilobytes * KB;

if (process.argv.includes('--json')) console.log(JSON.stringify(measured));
else
  for (const each of measured)
    console.log(
      `${fits(each) ? 'ok  ' : 'OVER'} ${each.what}: ${(each.bytes / KB).toFixed(1)} of ${each.kilobytes} KB gzipped`,
    );
process.exitCode = measured.every(fits) ? 0 : 1;

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
