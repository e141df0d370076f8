// `npm run build:llama`: wllama’s WASM with SIMD kernels in place of three of its functions (docs/decisions/wllama-settings.md).
// What is built stays until its sources change. With `--where-possible`, only where the compiler's wheel can be installed.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';

import { runnerImport } from 'vite';

import { buildNode } from './lib/node.mjs';

/** Zig has Clang and a linker for WASM. The wheel for Linux on x64. */
const COMPILER = `ziglang==0.17.1 --hash=sha256:ea6cc5d87b033cf0aedfbc8f9549a908cae6c50ac31f1698188fa48a74524b54`;

const REPLACED = ['ggml_vec_dot_q8_0_q8_0', 'ggml_vec_dot_q4_0_q8_0', 'ggml_vec_dot_q4_1_q8_1'];

const { resolve } = createRequire(import.meta.url);
const sourceMap = readFileSync(resolve('@wllama/wllama/src/wasm/source-map.ts'), 'utf8');

/** What goes in, and what came out when it was tested. */
const builds = [
  {
    name: 'wllama.wasm',
    build: 'default',
    bits: 64,
    input: '@wllama/wllama/esm/wasm/wllama.wasm',
    inputHash: '551f13439366eff11e057b1b91fe46a7fdac29d56d67372d4c5f19a549dfe70c',
    outputHash: '729c7fc63b12d176e2532f218dfb52c956242916690f8ff8d16f5f8d20414a01',
  },
  {
    name: 'wllama-compat.wasm',
    build: 'compat',
    bits: 32,
    input: '@wllama/wllama-compat/wasm/wllama.wasm',
    inputHash: '2db3f67d0bcc19cdf8f14f129e46cab691bff898954808f8a2dc4c586eb5bb68',
    outputHash: '08db924dec0d592b3c695e5a0fe27873efcb202f115a9d36b6b49035c8bdbe7e',
  },
];

function run(command, args, options = {}) {
  const { status, error } = spawnSync(command, args, { stdio: 'inherit', ...options });
  if (status !== 0) throw error ?? new Error(`${command} ${args.join(' ')} ended with ${status}`);
}

const hashOf = (bytes) => createHash('sha256').update(bytes).digest('hex');

function expectHash(bytes, hash, what) {
  const found = hashOf(bytes);
  if (found !== hash) throw new Error(`${what} has the SHA-256 ${found}, not ${hash}`);
}

/** The compiler's wheel is for Linux on x64. */
const canCompile = () =>
  process.platform === 'linux' &&
  process.arch === 'x64' &&
  spawnSync('python3', ['-m', 'pip', '--version'], { stdio: 'ignore' }).status === 0;

/** The kernels as a module for one size of addresses. */
function compile(folder, bits, table) {
  const output = join(folder, `dot-${bits}.wasm`);
  const flags = [
    `-m ziglang cc -target wasm${bits}-freestanding -mcpu=generic+simd128 -O3 -DHALF_TABLE=${table}`,
    '-Wall -Wextra -Wno-unused-parameter -Werror -fno-sanitize=all',
    '-nostdlib -Wl,--no-entry -Wl,--import-memory -Wl,--strip-all',
  ].join(' ');
  const source = join(import.meta.dirname, 'llama/dot.c');
  run('python3', [...flags.split(' '), source, '-o', output], {
    env: { ...process.env, PYTHONPATH: join(folder, 'python') },
  });
  return readFileSync(output);
}

/** Names by function: the package ships them for its error messages. */
function tableOf(build) {
  const [, base64 = ''] = new RegExp(`"${build}":\\s*"([^"]+)"`).exec(sourceMap) ?? [];
  return gunzipSync(Buffer.from(base64, 'base64'));
}

if (process.argv.includes('--where-possible') && !canCompile()) {
  console.log('npm run build:llama needs Linux (x64) and Python with pip: skipped.');
  process.exit();
}
await buildNode();
const { functionNames, halfTable, replaceKernels } = (
  await runnerImport('./scripts/llama/replace-kernels.ts')
).module;
const { simdLlamaFolder } = await import('../dist/node/wasm-files.js');
const targetOf = (name) => join(simdLlamaFolder(), name);
const isBuilt = ({ name, outputHash }) =>
  existsSync(targetOf(name)) && hashOf(readFileSync(targetOf(name))) === outputHash;
if (builds.every(isBuilt)) {
  console.log(`${simdLlamaFolder()} is up to date.`);
  process.exit();
}
const work = mkdtempSync(join(tmpdir(), 'localtext-llama-'));
try {
  writeFileSync(join(work, 'requirements.txt'), COMPILER);
  const pip =
    '-m pip install --quiet --root-user-action=ignore --only-binary=:all: --require-hashes --no-deps --disable-pip-version-check';
  run('python3', [...pip.split(' '), '--target', join(work, 'python'), '-r', join(work, 'requirements.txt')]);
  for (const { name, build, bits, input, inputHash, outputHash } of builds) {
    const path = resolve(input);
    const module = readFileSync(path);
    expectHash(module, inputHash, path);
    const names = functionNames(tableOf(build));
    const kernels = compile(work, bits, halfTable(module, names, REPLACED[0]));
    const replaced = replaceKernels(module, names, REPLACED, kernels);
    expectHash(replaced, outputHash, `the ${name} built`);
    const target = targetOf(name);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, replaced);
    console.log(`${target}: ${replaced.length} bytes`);
  }
} finally {
  rmSync(work, { recursive: true });
}
