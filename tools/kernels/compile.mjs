// `npm run kernels`: compiles tools/kernels to the objects that are linked into llama.cpp's WASM. With `--check`, compares
// them with the committed ones instead; with `--where-possible`, only where the compiler's wheel can be installed.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Zig has Clang with a target for WASM. The wheel for Linux on x64. */
const VERSION = '0.17.1';
const COMPILER = `ziglang==${VERSION} --hash=sha256:ea6cc5d87b033cf0aedfbc8f9549a908cae6c50ac31f1698188fa48a74524b54`;

/**
 * Compiler features by the width of addresses in bits. Browsers that have 64-bit memories have relaxed SIMD, too
 * (src/engines/wllama/wasm-build.ts).
 */
const FEATURES = new Map([
  [64, '+relaxed_simd'],
  [32, ''],
]);

const CPU = '-mcpu=generic+simd128+atomics+bulk_memory+sign_ext+nontrapping_fptoint';
const FLAGS = [
  '-O3',
  // The order and rounding of floating-point operations are the original's.
  '-ffp-contract=off',
  // No calls of a C library, no tables and no data: the linker accepts only code.
  '-fno-builtin',
  '-fno-jump-tables',
  '-fno-sanitize=all',
  '-g0',
  '-Wall',
  '-Wextra',
  '-Werror',
];

const folder = import.meta.dirname;
const compiler = join(folder, `../../node_modules/.cache/localtext/zig-${VERSION}`);

function python(args, options = {}) {
  const { status, error } = spawnSync('python3', args, { stdio: 'inherit', ...options });
  if (status !== 0) throw error ?? new Error(`python3 ${args.join(' ')} ended with ${status}`);
}

const canInstall = () =>
  process.platform === 'linux' &&
  process.arch === 'x64' &&
  spawnSync('python3', ['-m', 'pip', '--version'], { stdio: 'ignore' }).status === 0;

function install() {
  if (existsSync(compiler)) return;
  const work = mkdtempSync(join(tmpdir(), 'localtext-compiler-'));
  writeFileSync(join(work, 'requirements.txt'), COMPILER);
  const options =
    '-m pip install --quiet --root-user-action=ignore --only-binary=:all: --require-hashes --no-deps --disable-pip-version-check';
  const incomplete = `${compiler}.${process.pid}`;
  python([...options.split(' '), '--target', incomplete, '-r', join(work, 'requirements.txt')]);
  renameSync(incomplete, compiler);
  rmSync(work, { recursive: true });
}

/** Compiles the sources of this folder to a relocatable object. */
function compile(bits, output) {
  install();
  const target = ['-target', `wasm${bits}-freestanding`, `${CPU}${FEATURES.get(bits)}`];
  const args = ['-m', 'ziglang', 'cc', ...target, ...FLAGS, '-c', 'kernels.c', '-o', output];
  python(args, { cwd: folder, env: { ...process.env, PYTHONPATH: compiler } });
}

if (process.argv.includes('--where-possible') && !canInstall()) {
  console.log('npm run kernels needs Linux (x64) and Python with pip: skipped.');
  process.exit();
}
const work = mkdtempSync(join(tmpdir(), 'localtext-kernels-'));
try {
  for (const bits of [64, 32]) {
    const target = join(folder, `kernels-${bits}.o`);
    const output = process.argv.includes('--check') ? join(work, `kernels-${bits}.o`) : target;
    compile(bits, output);
    if (output === target || readFileSync(output).equals(readFileSync(target))) continue;
    console.error(`${target} is not what its sources compile to. Run: npm run kernels`);
    process.exitCode = 1;
  }
} finally {
  rmSync(work, { recursive: true });
}
