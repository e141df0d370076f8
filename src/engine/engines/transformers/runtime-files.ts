import type { EngineContext } from '../../engine.ts';
import { EngineError } from '../../engine-error.ts';
import { checkWasm } from '../wllama/wasm-file.ts';

export const SCRIPT = 'ort-wasm-simd-threaded.asyncify.mjs';
export const WASM = 'ort-wasm-simd-threaded.asyncify.wasm';

/** Found to be there in this worker's life. */
const seen = new Set<string>();

/**
 * Resolves when the runtime's two files are there, by their first bytes. onnxruntime-web tells of a missing one in a
 * message that names none, and does not start again in the same worker.
 * @throws EngineError `model_load_failed`
 */
export async function checkRuntimeFiles(context: EngineContext): Promise<void> {
  await Promise.all([SCRIPT, WASM].map((name) => checkFile(name, context)));
}

async function checkFile(name: string, { wasm, signal }: EngineContext): Promise<void> {
  const url = wasm(name);
  if (seen.has(url)) return;
  let start: Uint8Array;
  try {
    const response = await fetch(url, { signal });
    if (!response.ok) throw failed(name, `could not be had: the server answered ${response.status}`);
    const reader = response.body?.getReader();
    start = (await reader?.read())?.value ?? new Uint8Array();
    await reader?.cancel();
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof EngineError ? error : failed(name, 'could not be fetched', error);
  }
  const text = new TextDecoder('latin1').decode(start.subarray(0, 200)).trimStart();
  if (name === WASM && !text.startsWith('\0asm')) throw failed(name, 'is not a WebAssembly file');
  if (name === SCRIPT && (text === '' || text.startsWith('<'))) throw failed(name, 'is not a script');
  seen.add(url);
}

/** Why the runtime did not start with files that are there. */
export async function startFailure(error: unknown, context: EngineContext): Promise<EngineError> {
  if (error instanceof EngineError) return error;
  context.signal.throwIfAborted();
  if (/content security policy|unsafe-eval/i.test(String(error))) {
    const message = `This page's Content-Security-Policy keeps ${WASM} from running. Allow 'wasm-unsafe-eval' in script-src, and reload the page.`;
    return new EngineError({ code: 'model_load_failed', message }, error);
  }
  try {
    await checkWasm(context.wasm(WASM), context.signal);
  } catch (cause) {
    if (cause instanceof EngineError) return cause;
    throw cause;
  }
  return failed(SCRIPT, 'could not be started', error);
}

function failed(name: string, how: string, cause?: unknown): EngineError {
  const message = `The engine's file ${name} ${how}. Put the files of the wasm folder back in place, or name it by wasmUrl, and reload the page.`;
  return new EngineError({ code: 'model_load_failed', message }, cause);
}
