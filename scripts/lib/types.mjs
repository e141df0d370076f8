import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';

/** The package's entry points, by the configuration that checks them. */
const ENTRIES = {
  'src/page/tsconfig.json': [
    'src/index.ts',
    'src/page/status-store/index.ts',
    'src/page/react/index.ts',
    'src/language-model/index.ts',
  ],
  'src/node/tsconfig.json': ['src/node/vite-plugin/vite-plugin.ts'],
  'src/tsconfig.shared.json': ['src/service-worker/index.ts', 'src/catalog.ts'],
};

/** Emits only the declarations that the entry points export. */
export function emitTypes(out = 'dist/types') {
  rmSync(out, { recursive: true, force: true });
  const emitted = join(out, 'emitted');
  for (const [checkedWith, entries] of Object.entries(ENTRIES)) emit(checkedWith, entries, emitted);
  const reached = new Set();
  for (const entry of Object.values(ENTRIES).flat())
    reach(entry.replace('.ts', '.d.ts'), { reached, emitted, out });
  rmSync(emitted, { recursive: true });
}

function emit(checkedWith, entries, out) {
  const config = {
    extends: `../${checkedWith}`,
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
    files: entries.map((entry) => `../${entry}`),
  };
  const path = join('dist', `tsconfig.types.${process.pid}.json`);
  mkdirSync('dist', { recursive: true });
  writeFileSync(path, JSON.stringify(config));
  const { status } = spawnSync(join('node_modules', '.bin', 'tsc'), ['-p', path], {
    stdio: 'inherit',
    shell: process.platform === 'win32',
  });
  rmSync(path);
  if (status !== 0) throw new Error(`no declarations by ${checkedWith}`);
}

const IMPORT = /((?:from|import)\s*\(?\s*['"])(\.[^'"]+?)(?:\.d)?\.[jt]s(['"])/g;
/** Imports of a part's face. The package does not have these names. */
const FACE = /((?:from|import)\s*\(?\s*['"])(#[\w/-]+)(['"])/g;
const { imports: faces } = JSON.parse(readFileSync('package.json', 'utf8'));

/** Takes a declaration and what it imports, by paths that both Node and bundlers resolve. */
function reach(path, { reached, emitted, out }) {
  if (reached.has(path)) return;
  reached.add(path);
  const folder = posix.dirname(path);
  const faceOf = (name) => {
    const target = posix.relative(folder, posix.normalize(faces[name]));
    return (target.startsWith('.') ? target : `./${target}`).replace(/\.ts$/, '.js');
  };
  const text = readFileSync(join(emitted, path), 'utf8')
    .replaceAll(FACE, (_, before, name, after) => `${before}${faceOf(name)}${after}`)
    .replaceAll(IMPORT, '$1$2.js$3');
  const target = join(out, posix.relative('src', path));
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, text);
  for (const [, , imported] of text.matchAll(IMPORT))
    reach(posix.join(folder, `${imported}.d.ts`), { reached, emitted, out });
}
