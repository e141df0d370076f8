import type { WasmBuild } from '#llama';
import { readScript, type EngineContext } from '#engine-kit';
import { toWireError, serverError, messageOf, type ServiceError } from '#base';

/** A module with a 64-bit memory and a function that multiplies bytes with relaxed SIMD. */
const MODULE = new Uint8Array([
  0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 5, 1, 0x60, 0, 1, 0x7b, 3, 2, 1, 0, 5, 3, 1, 4, 1, 10, 15, 1, 13, 0,
  0x41, 1, 0xfd, 15, 0x41, 1, 0xfd, 15, 0xfd, 0x92, 2, 0x0b,
]);

/** Whether this browser can run llama.cpp's main WASM file. Other browsers run the compatibility build. */
export const runsMainWasm = (): boolean => WebAssembly.validate(MODULE);

/**
 * Chooses the build for this browser. The main build needs 64-bit WebAssembly memory and, for its kernels,
 * relaxed SIMD: Chromium has both, Firefox since 145, Safari not yet (26 included). The compatibility
 * build is twice as large, and slower.
 * @throws ServiceError `device_unsupported` when that build is missing
 */
export async function chooseBuild(
  { wasm, signal }: Pick<EngineContext, 'wasm' | 'signal'>,
  main = runsMainWasm(),
): Promise<WasmBuild> {
  if (main) return { wasm: wasm('wllama.wasm'), compat: false };
  await readScript(wasm('wllama-compat.js'), signal).catch((error: unknown) => {
    signal.throwIfAborted();
    // Other errors already suggest a retry or a reload.
    throw toWireError(error).code === 'model_load_failed' ? missing(error) : error;
  });
  return { wasm: wasm('wllama-compat.wasm'), compat: true };
}

function missing(cause: unknown): ServiceError {
  const why = messageOf(cause);
  const message = `This browser lacks 64-bit WebAssembly memory (memory64) or relaxed SIMD, and the build of wllama that works without them is missing. ${why}`;
  return serverError('device_unsupported', message, cause);
}
