import type { Remote } from 'comlink';

import { serverError, ServiceError, abortable, withTimeout } from '#base';
import { type HelperWorker, openHelper } from './helper-worker.ts';

const START_TIMEOUT_MS = 20_000;

interface CallOptions {
  timeoutMs: number;
  /** Makes the error of a failed call. `cause` is null if the call timed out. */
  toError(cause: unknown): Error;
  /** Aborts the call and ends the worker. */
  signal?: AbortSignal;
}

/**
 * Helper whose worker is terminated when a call fails or times out, as a busy thread receives no messages. The
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

  /** @throws ServiceError; the error of `load` */
  start(): Promise<HelperWorker<Helper>> {
    const starting = (this.#worker ??= this.#open());
    starting.catch(() => {
      if (this.#worker === starting) this.#worker = null;
    });
    return starting;
  }

  /** @throws the errors of `start()` and `toError`; the signal's reason */
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
    // A later call may have started another worker.
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

  /** Ends the worker; pending and later calls fail. */
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
    return openHelper(this.#name, load, signal).finally(() => clearTimeout(timer));
  }
}

function notStarted(name: string): ServiceError {
  const message = `The engine's ${name} worker did not start within ${START_TIMEOUT_MS / 1000} s: the device may be busy. Try again.`;
  return serverError('engine_failed', message);
}
