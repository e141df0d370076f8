export interface TakesTurns {
  /** Parts that are still to be computed. */
  left: number;
  /** Set by the first `push`. */
  arrived?: number;
}

/**
 * Order in which requests of several parts get their turns. Every second turn goes to the request that is nearest to its end,
 * the latest of several: a short one does not wait for all that are long, or that nobody waits for any more.
 */
export class Turns<Request extends TakesTurns> {
  readonly #waiting: Request[] = [];
  #arrived = 0;
  #prefersShort = false;

  push(request: Request): void {
    request.arrived ??= ++this.#arrived;
    this.#waiting.push(request);
  }

  delete(request: Request): void {
    const at = this.#waiting.indexOf(request);
    if (at >= 0) this.#waiting.splice(at, 1);
  }

  take(): Request | undefined {
    this.#prefersShort = !this.#prefersShort;
    const next = this.#prefersShort ? this.#waiting.toSorted(nearestToEnd)[0] : this.#waiting[0];
    if (next) this.delete(next);
    return next;
  }
}

const nearestToEnd = (a: TakesTurns, b: TakesTurns): number =>
  a.left - b.left || (b.arrived ?? 0) - (a.arrived ?? 0);
