import { proxy } from 'comlink';

import type { TransformersVariant } from '../../catalog/catalog.ts';
import type { WatchedGpu } from '../device.ts';
import type { EngineContext } from '../engine.ts';
import { ModelWorker } from '../model-worker.ts';
import type { onnxWorker } from './onnx-worker.ts';
import { runtimeFiles, withThreads } from './runtime-files.ts';
import type { ModelFiles } from './weight-files.ts';

type Worker = ModelWorker<typeof onnxWorker>;

/** A model in a separate worker. */
export class OnnxSession {
  readonly threads: number;
  readonly #worker: Worker;
  readonly #gpu: WatchedGpu | null;

  private constructor(worker: Worker, threads: number, gpu: WatchedGpu | null) {
    this.#worker = worker;
    this.threads = threads;
    this.#gpu = gpu;
    // After a loss, onnxruntime's calls may never settle.
    gpu?.lost.addEventListener('abort', () => worker.end(gpu.lost.reason));
  }

  /** @throws ServiceError, or what the runtime failed with */
  static async load(
    variant: TransformersVariant,
    { wasm, signal }: EngineContext,
    { read, failed }: ModelFiles,
    wanted: number,
    gpu: WatchedGpu | null,
  ): Promise<OnnxSession> {
    const files = runtimeFiles(variant.device);
    const runtime = { script: wasm(files.script), wasm: wasm(files.wasm) };
    const { opened, threads } = await withThreads(wanted, (count) =>
      ModelWorker.open<typeof onnxWorker>(
        'onnx',
        (model) => model.load(variant, { ...runtime, threads: count }, proxy(read)),
        AbortSignal.any([signal, failed, ...(gpu ? [gpu.lost] : [])]),
      ),
    );
    return new OnnxSession(opened, threads, gpu);
  }

  /** One L2-normalised vector for each sequence. */
  run(batch: readonly (readonly number[])[]): Promise<Float32Array<ArrayBuffer>[]> {
    return this.#worker.call((model) => model.run(batch));
  }

  end(): void {
    this.#gpu?.stop();
    this.#worker.end();
  }
}
