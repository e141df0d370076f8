type Mode = 'exclusive' | 'shared';
interface Waiter {
  mode: Mode;
  grant(): void;
}

/** Web Locks in memory, in the order of asking: enough of LockManager for what asks and what answers. */
export class FakeLocks {
  readonly #held = new Map<string, { mode: Mode; holders: number }>();
  readonly #queues = new Map<string, Waiter[]>();
  /** Callbacks of those who hold a lock, called when they lose it. */
  readonly #losers = new Map<string, Set<(reason: unknown) => void>>();

  readonly manager = {
    request: (name: string, ...rest: unknown[]) => this.#request(name, rest),
    query: () => {
      // Requests before a query are carried out before it.
      for (const name of this.#queues.keys()) this.#grantNext(name);
      return Promise.resolve({
        held: [...this.#held].map(([name, { mode }]) => ({ name, mode })),
        pending: [...this.#queues].flatMap(([name, queue]) => queue.map(({ mode }) => ({ name, mode }))),
      });
    },
  } as unknown as LockManager;

  heldNames(): string[] {
    return [...this.#held.keys()];
  }

  /** What the browser does when the holder of the locks dies. */
  crash(): void {
    this.#held.clear();
    for (const name of this.#queues.keys()) this.#grantNext(name);
  }

  /** What the browser does when a script requests the lock with `steal`. @returns a function that releases it */
  steal(name: string): () => void {
    this.#robHolders(name);
    this.#held.set(name, { mode: 'exclusive', holders: 1 });
    return () => this.#release(name);
  }

  #robHolders(name: string): void {
    for (const reject of this.#losers.get(name) ?? []) reject(new DOMException('stolen', 'AbortError'));
    this.#losers.delete(name);
    this.#held.delete(name);
  }

  #request(name: string, rest: unknown[]): Promise<unknown> {
    const callback = rest.at(-1) as (lock: unknown) => unknown;
    const options = (rest.length > 1 ? rest[0] : {}) as {
      mode?: Mode;
      signal?: AbortSignal;
      ifAvailable?: boolean;
      steal?: boolean;
    };
    const mode = options.mode ?? 'exclusive';
    const waiting = this.#queues.get(name)?.length ?? 0;
    if (options.ifAvailable && (this.#held.has(name) || waiting > 0)) return run(callback, null);
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        mode,
        grant: () => {
          options.signal?.removeEventListener('abort', onAbort);
          const losers = this.#losers.get(name) ?? new Set();
          this.#losers.set(name, losers.add(reject));
          void run(callback, { name, mode })
            .finally(() => losers.delete(reject) && this.#losers.get(name) === losers && this.#release(name))
            .then(resolve, reject);
        },
      };
      const queue = this.#queues.get(name) ?? [];
      const onAbort = (): void => {
        const place = queue.indexOf(waiter);
        if (place >= 0) queue.splice(place, 1);
        reject(options.signal?.reason);
      };
      if (options.signal?.aborted) return onAbort();
      options.signal?.addEventListener('abort', onAbort);
      if (options.steal) this.#robHolders(name);
      queue[options.steal ? 'unshift' : 'push'](waiter);
      this.#queues.set(name, queue);
      queueMicrotask(() => this.#grantNext(name));
    });
  }

  #grantNext(name: string): void {
    const queue = this.#queues.get(name) ?? [];
    for (;;) {
      const next = queue[0];
      const held = this.#held.get(name);
      if (!next || (held && (held.mode === 'exclusive' || next.mode === 'exclusive'))) return;
      queue.shift();
      this.#held.set(name, { mode: next.mode, holders: (held?.holders ?? 0) + 1 });
      next.grant();
    }
  }

  #release(name: string): void {
    const held = this.#held.get(name);
    if (held && held.holders > 1) held.holders--;
    else this.#held.delete(name);
    this.#grantNext(name);
  }
}

async function run(callback: (lock: unknown) => unknown, lock: unknown): Promise<unknown> {
  return await callback(lock);
}
