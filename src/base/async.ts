/** Settles as the promise does, or rejects with the signal's reason as soon as that aborts. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) {
    // The promise has no other reader: its failure must not become an unhandled rejection.
    promise.catch(() => undefined);
    return Promise.reject(signal.reason as Error);
  }
  return new Promise<T>((resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** Resolves after that many milliseconds; rejects with the signal's reason when that aborts first. */
export function delay(milliseconds: number, signal?: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const slept = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  return signal ? abortable(slept, signal).finally(() => clearTimeout(timer)) : slept;
}

/** Waits for a promise; null when it takes longer. @throws the promise's error before that */
export async function withTimeout<T>(promise: Promise<T>, milliseconds: number): Promise<T | null> {
  const settled = new AbortController();
  const late = delay(Math.max(0, milliseconds), settled.signal).then(
    () => null,
    () => null,
  );
  return Promise.race([promise, late]).finally(() => settled.abort());
}

/** A promise with its own `resolve`. */
export interface Deferred<T = void> {
  promise: Promise<T>;
  resolve(value: T | PromiseLike<T>): void;
}

export function createDeferred<T = void>(): Deferred<T> {
  const resolvers: Deferred<T>['resolve'][] = [];
  const promise = new Promise<T>((resolve) => resolvers.push(resolve));
  return { promise, resolve: (value) => resolvers[0]?.(value) };
}

/** A queue from callbacks to one reader. */
export class Channel<T> {
  readonly #values: T[] = [];
  #ended: { error: unknown } | 'whole' | null = null;
  #wake = (): void => {};

  push(value: T): void {
    this.#values.push(value);
    this.#wake();
  }

  end(): void {
    this.#ended ??= 'whole';
    this.#wake();
  }

  fail(error: unknown): void {
    this.#ended ??= { error };
    this.#wake();
  }

  /**
   * Takes the next value, once there is one; null after the last.
   * @throws the error of the channel, after the last value
   */
  async take(): Promise<T | null> {
    for (;;) {
      const value = this.#values.shift();
      if (value !== undefined) return value;
      if (this.#ended === 'whole') return null;
      if (this.#ended) throw this.#ended.error;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

/** Runs one task after another, in the order of the calls. A task that fails does not stop the next one. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve();

  /**
   * @param signal ends the wait. A task that has begun runs on, and the next one waits for it
   * @throws the task's error; the signal's reason
   */
  run<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const running = this.#last.then(() => {
      signal?.throwIfAborted();
      return task();
    });
    this.#last = running.catch(() => undefined);
    return signal ? abortable(running, signal) : running;
  }

  /** Waits for all earlier tasks. @returns a function that lets the next one begin @throws the signal's reason */
  lock(signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      this.run(() => new Promise<void>((unlock) => resolve(unlock)), signal).catch(reject);
    });
  }
}

/**
 * Runs one read at a time. Calls during a read share the next one, so that no call gets a value read before
 * it.
 */
export function shared<T>(read: () => Promise<T>): () => Promise<T> {
  const reads = new Mutex();
  let next: Promise<T> | null = null;
  return () =>
    (next ??= reads.run(() => {
      next = null;
      return read();
    }));
}

/** Calls `make` once, and again after a failure. */
export function untilFailure<T>(make: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | null = null;
  return () =>
    (result ??= make().catch((error: unknown) => {
      result = null;
      throw error;
    }));
}

/** Milliseconds to wait after a number of failures in a row, counted from 0: twice as long each time. */
export const backoff = (failures: number, { firstMs, maxMs }: { firstMs: number; maxMs: number }): number =>
  Math.min(maxMs, firstMs * 2 ** failures);
