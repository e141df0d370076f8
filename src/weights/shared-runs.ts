/** Runs of which there is one at a time for each key: a caller that comes meanwhile shares the run and its outcome. */
export class SharedRuns<T> {
  readonly #running = new Map<string, Promise<T>>();

  run(key: string, start: () => Promise<T>): Promise<T> {
    const before = this.#running.get(key);
    if (before) return before;
    const running = start().finally(() => this.#running.delete(key));
    this.#running.set(key, running);
    return running;
  }
}
