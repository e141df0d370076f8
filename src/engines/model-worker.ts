import { type ProxyMarked, releaseProxy, type Remote, wrap } from 'comlink';

import { abortable } from '../util/async.ts';
import { engineCrashed } from '../errors/engine-errors.ts';
import { ServiceError } from '../errors/service-error.ts';
import { onnxLock, whenReleased } from '../protocol/locks.ts';
import { openWorker } from './open-worker.ts';

/** What an engine's worker (`worker.ts`) offers to one that has started it. */
interface HelperHost {
  /** Resolves when the worker holds the lock. */
  helper(name: string, lock: string): Promise<ProxyMarked>;
}

/** A worker with one of an engine's helpers, and one model, with which it ends. */
export class ModelWorker<Model extends object> {
  readonly #worker: Worker;
  readonly #host: Remote<HelperHost>;
  #model: Remote<Model> | null = null;
  /** Aborts when the worker has ended, however it did: a call to it would never settle. */
  readonly #gone = new AbortController();

  private constructor(type: WorkerType) {
    // The engine's own script, so that no bundler must find another.
    const name = 'localtext-onnx';
    this.#worker = openWorker(location.href, { type, name }, (error) => this.#end(error));
    this.#host = wrap<HelperHost>(this.#worker);
  }

  /**
   * @throws ServiceError, or what the runtime failed with
   */
  static async open<Model extends object>(
    helper: string,
    load: (model: Remote<Model>) => Promise<unknown>,
    signal: AbortSignal,
  ): Promise<ModelWorker<Model>> {
    const [type, other] = scriptTypes();
    try {
      return await ModelWorker.#open(type, helper, load, signal);
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'worker_blocked') throw error;
      return ModelWorker.#open(other, helper, load, signal);
    }
  }

  static async #open<Model extends object>(
    type: WorkerType,
    helper: string,
    load: (model: Remote<Model>) => Promise<unknown>,
    signal: AbortSignal,
  ): Promise<ModelWorker<Model>> {
    const worker = new ModelWorker<Model>(type);
    try {
      await abortable(worker.#load(helper, load), signal);
      return worker;
    } catch (error) {
      worker.end();
      throw error;
    }
  }

  async #load(helper: string, load: (model: Remote<Model>) => Promise<unknown>): Promise<void> {
    const lock = onnxLock(crypto.randomUUID());
    const { signal } = this.#gone;
    this.#model = (await abortable(this.#host.helper(helper, lock), signal)) as unknown as Remote<Model>;
    whenReleased(navigator.locks, lock, signal).then(
      () => this.#end(engineCrashed('the worker of onnxruntime has ended')),
      () => undefined,
    );
    await abortable(load(this.#model), signal);
  }

  /** Rejects when the worker ends before the call does. */
  call<T>(call: (model: Remote<Model>) => Promise<T>): Promise<T> {
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
    this.#host[releaseProxy]();
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
