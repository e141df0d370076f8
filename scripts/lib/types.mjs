import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';

const entries = {
  page: 'src/index.ts',
  sw: 'src/service-worker/index.ts',
  catalog: 'src/catalog.ts',
  store: 'src/page/status-store/index.ts',
  react: 'src/page/react/index.ts',
  node: 'src/node/vite-plugin/vite-plugin.ts',
};

/** Emits only the declarations that the entry points export. */
export function emitTypes(out = 'dist/types') {
  // Sources import files of `tools` too, so `src` is a folder of what is emitted.
  const emitted = join(out, 'emitted');
  for (const [environment, entry] of Object.entries(entries)) emit(environment, entry, emitted);
  cpSync(join(emitted, 'src'), out, { recursive: true });
  rmSync(emitted, { recursive: true });
  const reached = new Set();
  for (const entry of Object.values(entries))
    reach(resolve(out, entry.replace('src/', '').replace('.ts', '.d.ts')), reached);
  for (const file of readdirSync(out, { recursive: true }).map((name) => resolve(out, name)))
    if (existsSync(file) && statSync(file).isFile() && !reached.has(file)) rmSync(file);
}

/** The folder whose `tsconfig.json` checks an entry, if it is not the entry's own. */
const CHECKED_WITH = { page: 'src/page', store: 'src/page', react: 'src/page', node: 'src/node' };

function emit(environment, entry, out) {
  const folder = CHECKED_WITH[environment] ?? dirname(entry);
  const config = {
    extends: `../${folder}/tsconfig.json`,
    compilerOptions: {
      noEmit: false,
      incremental: false,
      tsBuildInfoFile: null,
      declaration: true,
      emitDeclarationOnly: true,
      stripInternal: true,
      rewriteRelativeImportExtensions: true,
      rootDir: '..',
      outDir: join('..', out),
    },
    include: [],
    files: [`../${entry}`],
  };
  const path = join('dist', `tsconfig.${environment}.${process.pid}.json`);
  mkdirSync('dist', { recursive: true });
  writeFileSync(path, JSON.stringify(config));
  const { status } = spawnSync(join('node_modules', '.bin', 'tsc'), ['-p', path], {
    stdio: 'inherit',
    shell: process.platform === 'win32',
  });
  rmSync(path);
  if (status !== 0) throw new Error(`no declarations for ${environment}`);
}

const IMPORT = /((?:from|import)\s*\(?\s*['"])(\.[^'"]+?)(?:\.d)?\.[jt]s(['"])/g;

/** Follows a declaration's imports, and rewrites them to paths that both Node and bundlers resolve. */
function reach(path, reached) {
  if (reached.has(path)) return;
  reached.add(path);
  const text = readFileSync(path, 'utf8').replaceAll(IMPORT, '$1$2.js$3');
  writeFileSync(path, text);
  for (const [, , target] of text.matchAll(IMPORT)) reach(resolve(dirname(path), `${target}.d.ts`), reached);
}
