// docs/api from the docstrings of what the package exports. TypeDoc reads the declarations with its own TypeScript, as
// it cannot use the native one yet; neither is needed for anything else, so they are fetched when asked for. With --check only
// the hash of the declarations is compared with the one in docs/api/README.md.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';

import { emitTypes } from './lib/types.mjs';

const packages = ['typedoc@0.28.20', 'typedoc-plugin-markdown@4.14.1', 'typescript@5.9.3'];
const README = 'docs/api/README.md';
const entries = [
  'index',
  'page/status-store/index',
  'page/react/index',
  'service-worker/index',
  'catalog/index',
  'node/vite-plugin/vite-plugin',
];

const sha256 = (text) => createHash('sha256').update(text).digest('hex');

/** Computes a hash of the declarations that the documentation is made from, wherever their files are. */
function hashOf(folder) {
  const names = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.d.ts'));
  const texts = names.map((name) =>
    readFileSync(join(folder, name), 'utf8').replaceAll(/ from '[^']+'/g, ''),
  );
  return sha256(texts.map(sha256).toSorted().join('')).slice(0, 16);
}

if (process.argv.includes('--check')) {
  mkdirSync('dist', { recursive: true });
  const folder = mkdtempSync('dist/types-');
  emitTypes(folder);
  const fresh = readFileSync(README, 'utf8').includes(hashOf(folder));
  rmSync(folder, { recursive: true });
  if (!fresh) console.error('docs/api is out of date. Run: npm run docs');
  process.exit(fresh ? 0 : 1);
}

emitTypes();
const tsconfig = resolve('dist/tsconfig.docs.json');
const options = resolve('dist/typedoc.json');
const types = (name) => resolve('dist/types', `${name}.d.ts`).replaceAll('\\', '/');
// TypeDoc renders an unknown type as `any`. The library of service workers would declare `fetch` again.
const workerTypes = resolve('dist/worker-types.docs.d.ts');
const eventTypes = ['ExtendableEvent', 'FetchEvent', 'ExtendableMessageEvent'];
writeFileSync(workerTypes, eventTypes.map((name) => `interface ${name} extends Event {}\n`).join(''));
writeFileSync(
  tsconfig,
  JSON.stringify({
    compilerOptions: {
      target: 'ES2022',
      module: 'ESNext',
      moduleResolution: 'bundler',
      strict: true,
      lib: ['ES2023', 'DOM', 'DOM.Iterable'],
      types: [],
      skipLibCheck: true,
    },
    files: [workerTypes, ...entries.map(types)],
  }),
);
writeFileSync(
  options,
  JSON.stringify({
    tsconfig,
    entryPoints: entries.map(types),
    plugin: ['typedoc-plugin-markdown'],
    out: resolve('docs/api'),
    readme: 'none',
    name: 'localtext',
    // The service worker's types are not those of a page; each was checked with its own when it was emitted.
    skipErrorChecking: true,
    disableSources: true,
    excludeExternals: true,
    excludeInternal: true,
    excludePrivate: true,
    hideBreadcrumbs: true,
    hidePageHeader: true,
    outputFileStrategy: 'modules',
  }),
);
rmSync('docs/api', { recursive: true, force: true });
const run = (command, ...args) => {
  const { status } = spawnSync(command, args, { stdio: 'inherit', shell: process.platform === 'win32' });
  if (status !== 0) process.exit(1);
};
run('npx', '--yes', ...packages.flatMap((name) => ['-p', name]), 'typedoc', '--options', options);
// TypeDoc appends a number to this page's name.
renameSync('docs/api/localtext/catalog-1.md', 'docs/api/localtext/catalog.md');
for (const name of readdirSync('docs/api', { recursive: true }).filter((each) => each.endsWith('.md'))) {
  const path = join('docs/api', name);
  writeFileSync(path, readFileSync(path, 'utf8').replaceAll('catalog-1.md', 'catalog.md'));
}
appendFileSync(README, `\n<!-- declarations ${hashOf('dist/types')} -->\n`);
run(join('node_modules', '.bin', 'prettier'), '--write', '--log-level', 'warn', 'docs/api');
for (const path of [tsconfig, options, workerTypes]) rmSync(path);
