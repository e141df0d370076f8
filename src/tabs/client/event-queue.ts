/** What is pushed on one side is iterated on the other, by one reader: one promise an item and no more. */
export class EventQueue<T> implements AsyncIterator<T, undefined> {
  readonly #items: T[] = [];
  readonly #onTaken: (item: T) => void;
  readonly #onReturn: () => void;
  #waiting: Waiting<T> | null = null;
  #ended = false;
  #failure: { error: unknown } | null = null;

  constructor(hooks: { onTaken: (item: T) => void; onReturn: () => void }) {
    this.#onTaken = hooks.onTaken;
    this.#onReturn = hooks.onReturn;
  }

  push(item: T): void {
    if (this.#ended) return;
    const waiting = this.#waiting;
    if (!waiting) {
      this.#items.push(item);
      return;
    }
    this.#waiting = null;
    waiting.resolve({ done: false, value: item });
    this.#onTaken(item);
  }

  end(): void {
    this.#ended = true;
    this.#settle();
  }

  /** What was pushed before is still iterated. */
  fail(error: unknown): void {
    if (this.#ended) return;
    this.#failure = { error };
    this.end();
  }

  next(): Promise<IteratorResult<T, undefined>> {
    const item = this.#items.shift();
    if (item !== undefined) {
      this.#onTaken(item);
      return Promise.resolve({ done: false, value: item });
    }
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      if (this.#ended) this.#settle();
    });
  }

  return(): Promise<IteratorResult<T, undefined>> {
    this.#items.length = 0;
    this.#failure = null;
    this.end();
    this.#onReturn();
    return Promise.resolve({ done: true, value: undefined });
  }

  #settle(): void {
    const waiting = this.#waiting;
    if (!waiting) return;
    this.#waiting = null;
    const failure = this.#failure;
    this.#failure = null;
    if (failure) waiting.reject(failure.error);
    else waiting.resolve({ done: true, value: undefined });
  }
}

interface Waiting<T> {
  resolve(result: IteratorResult<T, undefined>): void;
  reject(error: unknown): void;
}
