import { releaseProxy, type Remote, wrap } from 'comlink';

import { abortable } from '../util/async.ts';
import { engineCrashed } from '../errors/engine-errors.ts';
import { ServiceError } from '../errors/service-error.ts';
import { onnxLock, whenReleased } from '../protocol/locks.ts';
import { openWorker } from './open-worker.ts';

/** A worker that runs one model on onnxruntime, and that ends with it. `Host`: what its script offers at first. */
export class ModelWorker<Host, Model> {
  readonly #worker: Worker;
  readonly #host: Remote<Host>;
  #model: Model | null = null;
  /** Aborts when the worker has ended, however it did: a call to it would never settle. */
  readonly #gone = new AbortController();

  private constructor(type: WorkerType) {
    // The engine's own script, so that no bundler must find another.
    const name = 'localtext-onnx';
    this.#worker = openWorker(location.href, { type, name }, (error) => this.#end(error));
    this.#host = wrap<Host>(this.#worker);
  }

  /**
   * @param offer what the worker is to offer, once it holds the lock
   * @throws ServiceError, or what the runtime failed with
   */
  static async open<Host, Model>(
    offer: (host: Remote<Host>, lock: string) => Promise<Model>,
    load: (model: Model) => Promise<unknown>,
    signal: AbortSignal,
  ): Promise<ModelWorker<Host, Model>> {
    const [type, other] = scriptTypes();
    try {
      return await ModelWorker.#open(type, offer, load, signal);
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'worker_blocked') throw error;
      return ModelWorker.#open(other, offer, load, signal);
    }
  }

  static async #open<Host, Model>(
    type: WorkerType,
    offer: (host: Remote<Host>, lock: string) => Promise<Model>,
    load: (model: Model) => Promise<unknown>,
    signal: AbortSignal,
  ): Promise<ModelWorker<Host, Model>> {
    const worker = new ModelWorker<Host, Model>(type);
    try {
      await abortable(worker.#load(offer, load), signal);
      return worker;
    } catch (error) {
      worker.end();
      throw error;
    }
  }

  async #load(
    offer: (host: Remote<Host>, lock: string) => Promise<Model>,
    load: (model: Model) => Promise<unknown>,
  ): Promise<void> {
    const lock = onnxLock(crypto.randomUUID());
    const { signal } = this.#gone;
    this.#model = await abortable(offer(this.#host, lock), signal);
    whenReleased(navigator.locks, lock, signal).then(
      () => this.#end(engineCrashed('the worker of onnxruntime has ended')),
      () => undefined,
    );
    await abortable(load(this.#model), signal);
  }

  /** Rejects when the worker ends before the call does. */
  call<T>(call: (model: Model) => Promise<T>): Promise<T> {
    if (!this.#model) throw new Error('no model is loaded');
    return abortable(call(this.#model), this.#gone.signal);
  }

  /** @param reason what calls under way reject with */
  end(reason: unknown = new Error('the model was unloaded')): void {
    this.#end(reason);
  }

  #end(reason: unknown): void {
    if (this.#gone.signal.aborted) return;
    this.#gone.abort(reason);
    (this.#host as Remote<object>)[releaseProxy]();
    this.#worker.terminate();
  }
}

/**
 * The types in which a worker's script may start another worker, the likelier first: its own type, which bundlers decide.
 * Firefox on a busy machine at times stops for good in the start of a second worker, right after a first that failed.
 */
const scriptTypes = (): [WorkerType, WorkerType] =>
  isModule() ? ['module', 'classic'] : ['classic', 'module'];

/** Modules may not call importScripts(). */
function isModule(): boolean {
  const scope = globalThis as unknown as { importScripts(...urls: string[]): void };
  try {
    scope.importScripts();
    // Firefox refuses it to modules only where there is a script to load, by a TypeError.
    if (navigator.userAgent.includes('Firefox/')) scope.importScripts('data:text/javascript,');
    return false;
  } catch (error) {
    return error instanceof TypeError;
  }
}
