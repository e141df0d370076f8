import type { Remote } from 'comlink';

import { serverError, ServiceError } from '../errors/service-error.ts';
import { abortable, withTimeout } from '../util/async.ts';
import { HelperWorker } from './helper-worker.ts';

const START_TIMEOUT_MS = 20_000;

interface CallOptions {
  timeoutMs: number;
  /** Makes the error of a call that failed; of one that took too long where `cause` is null. */
  toError(cause: unknown): Error;
  /** Ends the call, and the worker with it. */
  signal?: AbortSignal;
}

/**
 * A helper whose worker ends with a call that fails or takes too long, as no message reaches a worker whose thread is busy. The
 * next call starts another worker.
 */
export class RestartableHelper<Helper extends object> {
  readonly #name: string;
  readonly #load: (helper: Remote<Helper>) => Promise<unknown>;
  #worker: Promise<HelperWorker<Helper>> | null = null;
  readonly #ended = new AbortController();

  /** @param load prepares each worker once it has started */
  constructor(name: string, load: (helper: Remote<Helper>) => Promise<unknown> = async () => undefined) {
    this.#name = name;
    this.#load = load;
  }

  /** @throws ServiceError, or what `load` failed with */
  start(): Promise<HelperWorker<Helper>> {
    const starting = (this.#worker ??= this.#open());
    starting.catch(() => {
      if (this.#worker === starting) this.#worker = null;
    });
    return starting;
  }

  /** @throws as `start()` does; what `toError` makes; the signal's reason */
  async call<T extends object>(
    call: (helper: Remote<Helper>) => Promise<T>,
    { timeoutMs, toError, signal = this.#ended.signal }: CallOptions,
  ): Promise<T> {
    const starting = this.start();
    const worker = await abortable(starting, signal);
    let cause: unknown = null;
    try {
      const answer = await abortable(withTimeout(worker.call(call), timeoutMs), signal);
      if (answer) return answer;
    } catch (error) {
      cause = error;
    }
    worker.end();
    // A later call may have started another one.
    if (this.#worker === starting) this.#worker = null;
    signal.throwIfAborted();
    this.#ended.signal.throwIfAborted();
    throw cause instanceof ServiceError && cause.code === 'worker_blocked' ? cause : toError(cause);
  }

  /** Ends the worker; the next call starts another. */
  stop(): void {
    this.#worker?.then((worker) => worker.end()).catch(() => undefined);
    this.#worker = null;
  }

  /** Ends the worker, and fails calls under way and later ones. */
  end(): void {
    this.#ended.abort(new Error('the model was unloaded'));
    this.stop();
  }

  async #open(): Promise<HelperWorker<Helper>> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(notStarted(this.#name)), START_TIMEOUT_MS);
    const load = (helper: Remote<Helper>): Promise<unknown> => {
      clearTimeout(timer);
      return this.#load(helper);
    };
    const signal = AbortSignal.any([this.#ended.signal, late.signal]);
    return HelperWorker.open(this.#name, load, signal).finally(() => clearTimeout(timer));
  }
}

const notStarted = (name: string): ServiceError =>
  serverError(
    'engine_failed',
    `The engine's ${name} worker did not start within ${START_TIMEOUT_MS / 1000} s: the device may be busy. Try again.`,
  );
