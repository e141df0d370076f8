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

  /** The next value, once there is one; null after the last. @throws what it failed with, after the last value */
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
