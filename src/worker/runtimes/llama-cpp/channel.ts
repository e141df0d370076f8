/** A queue from a callback to one `for await`. */
export class Channel<T> implements AsyncIterable<T> {
  readonly #values: T[] = [];
  #ended: { error: unknown } | 'whole' | null = null;
  #wake: (() => void) | null = null;

  push(value: T): void {
    this.#values.push(value);
    this.#signal();
  }

  end(): void {
    this.#ended ??= 'whole';
    this.#signal();
  }

  fail(error: unknown): void {
    this.#ended ??= { error };
    this.#signal();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for (;;) {
      const batch = this.#values.splice(0);
      yield* batch;
      if (batch.length > 0) continue;
      if (this.#ended === 'whole') return;
      if (this.#ended) throw this.#ended.error;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #signal(): void {
    this.#wake?.();
    this.#wake = null;
  }
}
