import { type ProxyMarked, releaseProxy, type Remote, wrap } from 'comlink';

import { abortable, engineCrashed, ServiceError } from '#base';
import { helperLock, whenReleased } from '#protocol';
import { openWorker } from './open-worker.ts';

/** API of the engine worker's script when an engine starts it as a helper worker. */
export interface HelperScript {
  /** Resolves when the worker holds the lock. @param name key in a plug-in's `helpers` */
  helper(name: string, lock: string): Promise<object & ProxyMarked>;
}

type Load<Helper extends object> = (helper: Remote<Helper>) => Promise<unknown>;

/** A worker that runs one of an engine's helpers. */
export class HelperWorker<Helper extends object> {
  readonly #worker: Worker;
  readonly #script: Remote<HelperScript>;
  #helper: Remote<Helper> | null = null;
  /** Aborts when the worker has ended for any reason: a call to it would never settle. */
  readonly #gone = new AbortController();

  private constructor(type: WorkerType) {
    // The engine worker's own script, so that bundlers need not emit another.
    const name = 'localtext-helper';
    this.#worker = openWorker(location.href, { type, name }, (error) => this.end(error));
    this.#script = wrap<HelperScript>(this.#worker);
  }

  /** @throws ServiceError; the error of `load` */
  static async open<Helper extends object>(
    name: string,
    load: Load<Helper>,
    signal: AbortSignal,
  ): Promise<HelperWorker<Helper>> {
    const [type, other] = scriptTypes();
    try {
      return await HelperWorker.#open(type, name, load, signal);
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'worker_blocked') throw error;
      return HelperWorker.#open(other, name, load, signal);
    }
  }

  static async #open<Helper extends object>(
    type: WorkerType,
    name: string,
    load: Load<Helper>,
    signal: AbortSignal,
  ): Promise<HelperWorker<Helper>> {
    const worker = new HelperWorker<Helper>(type);
    try {
      await abortable(worker.#load(name, load), signal);
      return worker;
    } catch (error) {
      worker.end();
      throw error;
    }
  }

  async #load(name: string, load: Load<Helper>): Promise<void> {
    const lock = helperLock(crypto.randomUUID());
    const { signal } = this.#gone;
    this.#helper = (await abortable(this.#script.helper(name, lock), signal)) as unknown as Remote<Helper>;
    whenReleased(navigator.locks, lock, signal).then(
      () => this.end(engineCrashed(`the worker of the helper ${name} has ended`)),
      () => undefined,
    );
    await abortable(load(this.#helper), signal);
  }

  /** Rejects when the worker ends before the call does. */
  call<T>(call: (helper: Remote<Helper>) => Promise<T>): Promise<T> {
    if (!this.#helper) throw new Error('no helper is loaded');
    return abortable(call(this.#helper), this.#gone.signal);
  }

  /** Terminates the worker. @param reason rejects pending calls */
  end(reason: unknown = new Error('the model was unloaded')): void {
    if (this.#gone.signal.aborted) return;
    this.#gone.abort(reason);
    this.#script[releaseProxy]();
    this.#worker.terminate();
  }
}

/**
 * Worker types to try, the current script's own type first; bundlers decide it. The order matters: on a busy
 * machine Firefox sometimes hangs while it starts a second worker right after a failed first one.
 */
const scriptTypes = (): [WorkerType, WorkerType] =>
  isModule() ? ['module', 'classic'] : ['classic', 'module'];

/** Modules may not call importScripts(). */
function isModule(): boolean {
  const scope = globalThis as unknown as { importScripts(...urls: string[]): void };
  try {
    scope.importScripts();
    // Firefox throws its TypeError in a module only if there is a script to load.
    if (navigator.userAgent.includes('Firefox/')) scope.importScripts('data:text/javascript,');
    return false;
  } catch (error) {
    return error instanceof TypeError;
  }
}
