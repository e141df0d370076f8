import { proxy, releaseProxy, type Remote, wrap } from 'comlink';

import type { TransformersVariant } from '../../../catalog/catalog.ts';
import { abortable } from '../../../util/abort.ts';
import { engineCrashed, EngineError } from '../../../errors/engine-error.ts';
import type { EngineContext } from '../engine.ts';
import { openWorker } from '../../open-worker.ts';
import type { OnnxHost, onnxWorker } from './onnx-worker.ts';
import { runtimeFiles } from './runtime-files.ts';
import type { ModelFiles, ReadFile } from './weight-files.ts';

/** A model in a separate worker. */
export class OnnxSession {
  readonly #worker: Worker;
  readonly #host: Remote<OnnxHost>;
  #model: Remote<typeof onnxWorker> | null = null;
  /** Aborts when the worker has ended, however it did: a call to it would never settle. */
  readonly #gone = new AbortController();

  private constructor(type: WorkerType) {
    // The engine's own script, so that no bundler must find another.
    const name = 'localtext-onnx';
    this.#worker = openWorker(location.href, { type, name }, (error) => this.#end(error));
    this.#host = wrap<OnnxHost>(this.#worker);
  }

  /** @throws EngineError, or what the runtime failed with */
  static async load(
    variant: TransformersVariant,
    context: EngineContext,
    files: ModelFiles,
    threads: number,
  ): Promise<OnnxSession> {
    const [type, other] = scriptTypes();
    try {
      return await OnnxSession.#open(type, variant, context, files, threads);
    } catch (error) {
      if (!(error instanceof EngineError) || error.code !== 'worker_blocked') throw error;
      return OnnxSession.#open(other, variant, context, files, threads);
    }
  }

  static async #open(
    type: WorkerType,
    variant: TransformersVariant,
    { wasm, signal }: EngineContext,
    { read, failed }: ModelFiles,
    threads: number,
  ): Promise<OnnxSession> {
    const session = new OnnxSession(type);
    try {
      await abortable(session.#load(variant, wasm, read, threads), AbortSignal.any([signal, failed]));
      return session;
    } catch (error) {
      session.end();
      throw error;
    }
  }

  async #load(
    variant: TransformersVariant,
    wasm: EngineContext['wasm'],
    read: ReadFile,
    threads: number,
  ): Promise<void> {
    const lock = `localtext:onnx:${crypto.randomUUID()}`;
    const { signal } = this.#gone;
    this.#model = await abortable(this.#host.onnxWorker(lock), signal);
    const released = navigator.locks.request(lock, { mode: 'shared', signal }, () => {
      this.#end(engineCrashed('the worker of onnxruntime has ended'));
    });
    released.catch(() => undefined);
    const files = runtimeFiles(variant.device);
    const runtime = { script: wasm(files.script), wasm: wasm(files.wasm), threads };
    await abortable(this.#model.load(variant, runtime, proxy(read)), signal);
  }

  /** One L2-normalised vector for each sequence. */
  run(batch: readonly (readonly number[])[]): Promise<Float32Array<ArrayBuffer>[]> {
    if (!this.#model) throw new Error('no model is loaded');
    return abortable(this.#model.run(batch), this.#gone.signal);
  }

  end(): void {
    this.#end(new Error('the model was unloaded'));
  }

  #end(reason: Error): void {
    if (this.#gone.signal.aborted) return;
    this.#gone.abort(reason);
    this.#host[releaseProxy]();
    this.#worker.terminate();
  }
}

/**
 * The types in which a worker's script may start another worker, the likelier first: its own type, which bundlers decide.
 * Modules may not call this function, but Firefox does not mind a call without a script.
 */
function scriptTypes(): [WorkerType, WorkerType] {
  try {
    (globalThis as unknown as { importScripts(): void }).importScripts();
    return ['classic', 'module'];
  } catch {
    return ['module', 'classic'];
  }
}
