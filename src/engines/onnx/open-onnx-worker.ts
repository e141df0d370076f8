import { proxy, type Remote } from 'comlink';

import { engineCrashed } from '#base';
import { hasThreads, processors, openHelper, type EngineContext } from '#engine-kit';
import { runtimeFiles, withThreads } from './runtime-files.ts';
import { type OnnxVariant, runFailure } from './transformers-files.ts';
import type { Runtime } from './wasm-options.ts';
import type { ReadFile } from './weight-files.ts';

interface Options<Helper extends object> {
  helper: string;
  load(model: Remote<Helper>, runtime: Runtime, read: ReadFile): Promise<unknown>;
  maxThreads?: number;
  /** Aborts the load. */
  lost?: AbortSignal | undefined;
}

/**
 * Opens a helper worker in which onnxruntime has loaded a variant.
 * @returns also a fingerprint of the variant and the backend that it runs on
 * @throws ServiceError; the runtime's error
 */
export async function openOnnxWorker<Helper extends object>(
  variant: OnnxVariant,
  { wasm, signal }: EngineContext,
  read: ReadFile,
  { helper, load, maxThreads = Infinity, lost }: Options<Helper>,
) {
  const files = runtimeFiles(variant);
  const usableThreads = hasThreads() ? Math.min(processors(), maxThreads) : 1;
  const { opened: worker, threads } = await withThreads(usableThreads, (count) => {
    const runtime = { script: wasm(files.script), wasm: wasm(files.wasm), threads: count };
    return openHelper<Helper>(
      helper,
      (model) => load(model, runtime, proxy(read)),
      lost ? AbortSignal.any([signal, lost]) : signal,
    );
  });
  // A voice opens files after its load, too. transformers.js may wait forever for one that cannot be opened.
  const end = () => worker.end(engineCrashed(signal.reason));
  signal.addEventListener('abort', end);
  const backend = variant.backend === 'webgpu' ? 'webgpu' : `wasm-${threads}t`;
  const call: typeof worker.call = (ask) =>
    worker.call(ask).catch((error: unknown) => {
      throw runFailure(error, variant);
    });
  return { worker: { ...worker, call }, fingerprint: `${variant.name}-transformers-${backend}` };
}
