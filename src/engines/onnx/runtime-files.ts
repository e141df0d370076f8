import { checkWasm, engineFileError, readScript, type EngineContext } from '#engine-kit';
import { serverError, type ServiceError } from '#base';
import { graphFailure, type OnnxVariant } from './transformers-files.ts';

/**
 * Chooses onnxruntime's build for a device. The build with WebGPU takes twice as long to fetch and compile, and
 * Safari before 26 cannot run it. Scripts are renamed from `.mjs`, for which nginx has no MIME type.
 */
export function runtimeFiles({ backend }: OnnxVariant): { script: string; wasm: string } {
  const build = backend === 'webgpu' ? 'ort-wasm-simd-threaded.asyncify' : 'ort-wasm-simd-threaded';
  return { script: `${build}.js`, wasm: `${build}.wasm` };
}

/** Retries with one thread if the threads do not start: on a busy machine Firefox sometimes never starts them. */
export async function withThreads<T>(
  threads: number,
  open: (threads: number) => Promise<T>,
): Promise<{ opened: T; threads: number }> {
  try {
    return { opened: await open(threads), threads };
  } catch (error) {
    if (threads === 1 || !/initializing failed due to timeout/.test(String(error))) throw error;
    console.warn(`localtext: ${threads} threads of onnxruntime did not start; continuing with one`, error);
    return { opened: await open(1), threads: 1 };
  }
}

/** Message of onnxruntime-web if it fails before it reads the model. */
const NOT_STARTED = /no available backend found/;

/** Explains a failed load. @throws ServiceError for a file of the runtime; the signal's reason */
export async function loadFailure(
  error: unknown,
  variant: OnnxVariant,
  context: EngineContext,
): Promise<ServiceError> {
  context.signal.throwIfAborted();
  return NOT_STARTED.test(String(error))
    ? startFailure(error, variant, context)
    : graphFailure(error, variant);
}

/**
 * Explains why the runtime did not start. onnxruntime-web does not name a missing file. The files are checked only
 * after a failure, so that a successful load fetches none twice.
 */
async function startFailure(
  error: unknown,
  variant: OnnxVariant,
  context: EngineContext,
): Promise<ServiceError> {
  const { script, wasm } = runtimeFiles(variant);
  if (/content security policy|unsafe-eval/i.test(String(error))) {
    const message = `This page's Content-Security-Policy keeps ${wasm} from running. Allow 'wasm-unsafe-eval' in script-src, and reload the page.`;
    return serverError('model_load_failed', message, error);
  }
  await readScript(context.wasm(script), context.signal);
  await checkWasm(context.wasm(wasm), context.signal);
  return engineFileError(context.wasm(script), 'could not be started', error);
}
