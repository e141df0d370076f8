import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

import { namesIn } from './linker/wasm-module.ts';
import { linkObject } from './linker/link-object.ts';
import { checkStructs, PARTS, REPLACED } from './linker/llama-abi.ts';
import { packageFile } from '../package-files.ts';

/** wllama's builds: with 64-bit addresses, and the one for browsers without them. */
export type LlamaBuild = 'default' | 'compat';

/** The package's WASM file of a build. */
export function packageWasm(build: LlamaBuild): string {
  const { resolve } = createRequire(import.meta.url);
  return resolve(
    build === 'compat' ? '@wllama/wllama-compat/wasm/wllama.wasm' : '@wllama/wllama/esm/wasm/wllama.wasm',
  );
}

/** The compiled kernels (tools/kernels). */
const kernelObject = (bits: 32 | 64): Buffer => readFileSync(packageFile(`tools/kernels/kernels-${bits}.o`));

const VERSION_LENGTH = 8;

/** Changes with the kernels; in `system_fingerprint`. */
export const kernelsVersion = (): string =>
  createHash('sha256')
    .update(kernelObject(64))
    .update(kernelObject(32))
    .digest('hex')
    .slice(0, VERSION_LENGTH);

/**
 * Links the kernels into the package's WASM.
 * @throws Error naming what in the package is not as the kernels expect
 */
export function linkLlama(build: LlamaBuild): Uint8Array {
  const bits = build === 'compat' ? 32 : 64;
  const module = readFileSync(packageWasm(build));
  return linkObject(module, namesIn(module), kernelObject(bits), REPLACED, PARTS, (bodyOf) =>
    checkStructs(bits, bodyOf),
  );
}
