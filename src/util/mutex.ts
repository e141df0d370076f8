/** Runs one task after another, in the order of the calls. A task that fails does not stop the next one. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(task: () => Promise<T>): Promise<T> {
    const running = this.#last.then(task);
    this.#last = running.catch(() => undefined);
    return running;
  }
}
