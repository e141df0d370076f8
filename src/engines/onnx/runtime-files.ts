import type { EngineContext } from '../engine.ts';
import { serverError, ServiceError } from '../../errors/service-error.ts';
import { checkWasm, engineFileError, readScript } from '../engine-file.ts';
import { graphFailure, type OnnxVariant } from './transformers-files.ts';

/** onnxruntime's files, by URL, and how many threads it may take. */
export interface Runtime {
  script: string;
  wasm: string;
  threads: number;
}

/**
 * onnxruntime's build for a device: the one with WebGPU takes twice as long to fetch and to compile, and Safari before 26
 * cannot run it. Scripts are renamed from `.mjs`: nginx has no MIME type for that ending.
 */
export function runtimeFiles({ device }: OnnxVariant): { script: string; wasm: string } {
  const build = device === 'webgpu' ? 'ort-wasm-simd-threaded.asyncify' : 'ort-wasm-simd-threaded';
  return { script: `${build}.js`, wasm: `${build}.wasm` };
}

/** Maximum time to start the runtime with threads, including its download. No limit (0) in browsers that always start them. */
const THREADS_START_MS = 30_000;

/** Options of onnxruntime-web, as `env.wasm` of the library has them. */
export const wasmOptions = ({ script, wasm, threads }: Runtime) => ({
  wasmPaths: { mjs: script, wasm },
  numThreads: threads,
  initTimeout: threads > 1 && navigator.userAgent.includes('Firefox/') ? THREADS_START_MS : 0,
});

/** Opens with these threads, and with one where they do not start: on a busy machine Firefox at times never starts them. */
export async function withThreads<T>(
  threads: number,
  open: (threads: number) => Promise<T>,
): Promise<{ opened: T; threads: number }> {
  try {
    return { opened: await open(threads), threads };
  } catch (error) {
    if (threads === 1 || !/initializing failed due to timeout/.test(String(error))) throw error;
    console.warn(`localtext: ${threads} threads of onnxruntime did not start; it goes on with one`, error);
    return { opened: await open(1), threads: 1 };
  }
}

/** Message of onnxruntime-web when it fails before it has seen the model. */
const NOT_STARTED = /no available backend found/;

/** Why a model could not be loaded. @throws the signal's reason */
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
 * Why the runtime did not start. onnxruntime-web reports a missing file without its name. The files are checked only
 * after a failure: a load that succeeds fetches none twice.
 */
async function startFailure(
  error: unknown,
  variant: OnnxVariant,
  context: EngineContext,
): Promise<ServiceError> {
  const { script, wasm } = runtimeFiles(variant);
  if (error instanceof ServiceError) return error;
  if (/content security policy|unsafe-eval/i.test(String(error))) {
    const message = `This page's Content-Security-Policy keeps ${wasm} from running. Allow 'wasm-unsafe-eval' in script-src, and reload the page.`;
    return serverError('model_load_failed', message, error);
  }
  try {
    await readScript(context.wasm(script), context.signal);
    await checkWasm(context.wasm(wasm), context.signal);
  } catch (cause) {
    if (cause instanceof ServiceError) return cause;
    throw cause;
  }
  return engineFileError(context.wasm(script), 'could not be started', error);
}
