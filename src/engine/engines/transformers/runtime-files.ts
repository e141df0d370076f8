import type { EngineContext } from '../../engine.ts';
import { EngineError, serverError } from '../../../protocol/engine-error.ts';
import { takesPlainBuild } from './runtime-build.ts';
import { checkWasm } from '../wllama/wasm-file.ts';

/** The build of ONNX Runtime for this browser. Scripts are renamed from `.mjs`: nginx has no MIME type for that ending. */
const BUILD = takesPlainBuild() ? 'ort-wasm-simd-threaded' : 'ort-wasm-simd-threaded.asyncify';
export const SCRIPT = `${BUILD}.js`;
export const WASM = `${BUILD}.wasm`;

/**
 * Why the runtime did not start. onnxruntime-web reports a missing file without its name, and does not start again in the
 * same worker. The files are checked only after a failure: a load that succeeds fetches none twice.
 */
export async function startFailure(error: unknown, context: EngineContext): Promise<EngineError> {
  context.signal.throwIfAborted();
  if (error instanceof EngineError) return error;
  if (/content security policy|unsafe-eval/i.test(String(error))) {
    const message = `This page's Content-Security-Policy keeps ${WASM} from running. Allow 'wasm-unsafe-eval' in script-src, and reload the page.`;
    return serverError('model_load_failed', message, error);
  }
  try {
    await checkScript(context);
    await checkWasm(context.wasm(WASM), context.signal);
  } catch (cause) {
    if (cause instanceof EngineError) return cause;
    throw cause;
  }
  return failed('could not be started', error);
}

async function checkScript({ wasm, signal }: EngineContext): Promise<void> {
  let text: string;
  try {
    const response = await fetch(wasm(SCRIPT), { signal });
    if (!response.ok) throw failed(`could not be downloaded: the server answered ${response.status}`);
    text = (await response.text()).trimStart();
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof EngineError ? error : failed('could not be fetched', error);
  }
  if (text === '' || text.startsWith('<')) throw failed('is not a script');
}

function failed(how: string, cause?: unknown): EngineError {
  const message = `The engine's file ${SCRIPT} ${how}. Put the files of the wasm folder back in place, or name it by wasmUrl, and reload the page.`;
  return serverError('model_load_failed', message, cause);
}
