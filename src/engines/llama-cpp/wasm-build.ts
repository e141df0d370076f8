import type { WllamaCompat } from '@wllama/wllama';

import { runsMainWasm } from '../../util/main-wasm.ts';
import type { EngineContext } from '../engine.ts';
import { readScript } from '../engine-file.ts';
import { toWireError } from '../../errors/engine-errors.ts';
import { serverError, type ServiceError } from '../../errors/service-error.ts';
import { messageOf } from '../../util/printable.ts';

export interface WasmBuild {
  /** URL of the build's WASM file. */
  wasm: string;
  /** Argument of `setCompat()`; null: the main build. */
  compat: WllamaCompat | null;
}

/**
 * The main build needs 64-bit WebAssembly memory and, for its kernels, relaxed SIMD: Chromium has both, Firefox since 145, no
 * Safari (26 included). The compatibility build is fetched only where one is missing: it is twice as large, and slower.
 * @throws ServiceError `device_unsupported` when that build is missing
 */
export async function chooseBuild(
  { wasm, signal }: Pick<EngineContext, 'wasm' | 'signal'>,
  main = runsMainWasm(),
): Promise<WasmBuild> {
  if (main) return { wasm: wasm('wllama.wasm'), compat: null };
  const code = await readScript(wasm('wllama-compat.js'), signal).catch((error: unknown) => {
    signal.throwIfAborted();
    // Other errors say that a repetition or a reload helps.
    throw toWireError(error).code === 'model_load_failed' ? missing(error) : error;
  });
  const compatWasm = wasm('wllama-compat.wasm');
  return { wasm: compatWasm, compat: { worker: { code }, wasm: compatWasm } };
}

function missing(cause: unknown): ServiceError {
  const why = messageOf(cause);
  return serverError(
    'device_unsupported',
    `This browser lacks 64-bit WebAssembly memory (memory64) or relaxed SIMD, and the build of wllama that works without them is missing. ${why}`,
    cause,
  );
}
