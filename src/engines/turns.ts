/**
 * Order in which requests of several parts get their turns. Every second turn goes to the request that is nearest to its end,
 * the latest of several: a short one does not wait for all that are long, or that nobody waits for any more.
 */
export class Turns<Request extends { left: number }> {
  readonly #waiting: Request[] = [];
  #prefersShort = false;

  push(request: Request): void {
    this.#waiting.push(request);
  }

  take(): Request | undefined {
    this.#prefersShort = !this.#prefersShort;
    const remaining = this.#waiting.map(({ left }) => left);
    const at = this.#prefersShort ? remaining.lastIndexOf(Math.min(...remaining)) : 0;
    return this.#waiting.splice(Math.max(0, at), 1)[0];
  }
}
