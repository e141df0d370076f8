import type { WllamaCompat } from '@wllama/wllama';

import { hasMemory64 } from '../../../util/memory64.ts';
import type { EngineContext } from '../engine.ts';
import { readScript } from '../engine-file.ts';
import { serverError, type ServiceError } from '../../../errors/service-error.ts';

export interface WasmBuild {
  /** URL of the build's WASM file. */
  wasm: string;
  /** For `setCompat()`; null: the package's own build. */
  compat: WllamaCompat | null;
}

/**
 * The package's own build needs 64-bit WebAssembly memory, which no Safari has (26 included). The compatibility build is
 * fetched only there: it is twice as large, and slower.
 * @throws ServiceError `device_unsupported` when that build is missing
 */
export async function chooseBuild(
  { wasm, signal }: Pick<EngineContext, 'wasm' | 'signal'>,
  memory64 = hasMemory64(),
): Promise<WasmBuild> {
  if (memory64) return { wasm: wasm('wllama.wasm'), compat: null };
  const code = await readScript(wasm('wllama-compat.js'), signal).catch((error: unknown) => {
    signal.throwIfAborted();
    throw missing(error);
  });
  const compatWasm = wasm('wllama-compat.wasm');
  return { wasm: compatWasm, compat: { worker: { code }, wasm: compatWasm } };
}

function missing(cause: unknown): ServiceError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return serverError(
    'device_unsupported',
    `This browser lacks 64-bit WebAssembly memory (memory64), and the build of wllama that works without it is missing. ${why}`,
    cause,
  );
}
