import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { rolldown } from 'rolldown';

import { packageFile } from '../package-files.ts';

const ADDITION = 'src/llama/internals/wllama-worker.ts';

/**
 * llama.cpp's worker as a file. The package starts the same text from a `blob:` URL, which `worker-src 'self'`
 * refuses: Emscripten's script as a function, the package's script of the worker, and our addition to it.
 * @param entry the package's entry point, `…/esm/index.js`
 * @param compat the script of `@wllama/wllama-compat`, for that build in place of the main one
 * @param kernels version of the kernels in its WASM, for `system_fingerprint`
 */
export async function wllamaWorker(entry: string, compat?: string, kernels?: string): Promise<string> {
  const sources = resolve(entry, '../../src');
  const emscripten = readFileSync(compat ?? resolve(sources, 'wasm/wllama.js'), 'utf8');
  if (!emscripten.startsWith('var Module'))
    throw new Error('@wllama/wllama has changed: its wllama.js declares no Module. Install version 3.13.0.');
  return [
    '// @wllama/wllama (MIT): github.com/ngxson/wllama',
    // `Module` is the worker's own.
    `function wModuleInit() { ${emscripten.replace('var Module', 'var ___Module')}; return Module; }`,
    readFileSync(resolve(sources, 'workers-code/llama-cpp.js'), 'utf8'),
    ...(kernels ? [`self.KERNELS_VERSION = '${kernels}'`] : []),
    await bundle(packageFile(ADDITION)),
    '',
  ].join('\n;\n');
}

/** One script without imports. */
async function bundle(input: string): Promise<string> {
  const build = await rolldown({ input, platform: 'browser', tsconfig: false });
  const { output } = await build.generate({ format: 'iife' });
  await build.close();
  return output[0].code;
}
