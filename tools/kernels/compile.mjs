// `npm run kernels`: compiles tools/kernels to the objects that are linked into llama.cpp's WASM. With `--check`, compares
// them with the committed ones instead; with `--where-possible`, only where the compiler's wheel can be installed.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { canInstall, compile } from './compiler.mjs';

if (process.argv.includes('--where-possible') && !canInstall()) {
  console.log('npm run kernels needs Linux (x64) and Python with pip: skipped.');
  process.exit();
}
const work = mkdtempSync(join(tmpdir(), 'localtext-kernels-'));
try {
  for (const bits of [64, 32]) {
    const target = join(import.meta.dirname, `kernels-${bits}.o`);
    const output = process.argv.includes('--check') ? join(work, `kernels-${bits}.o`) : target;
    compile('kernels.c', bits, output);
    if (output === target || readFileSync(output).equals(readFileSync(target))) continue;
    console.error(`${target} is not what its sources compile to. Run: npm run kernels`);
    process.exitCode = 1;
  }
} finally {
  rmSync(work, { recursive: true });
}
