export interface TakesTurns {
  /** Number of parts still to compute. */
  left: number;
  /** Arrival number, set by the first `push()` and kept in later queues. */
  arrived?: number;
}

let arrivals = 0;

/**
 * Queue of requests that are computed in parts. Every second turn goes to the request with the fewest parts left,
 * the latest if several have as few: a short request does not wait for all long or abandoned ones.
 */
export class Turns<Request extends TakesTurns> {
  readonly #waiting: Request[] = [];
  #prefersShort = false;

  get size(): number {
    return this.#waiting.length;
  }

  get waiting(): readonly Request[] {
    return this.#waiting;
  }

  push(request: Request): void {
    request.arrived ??= ++arrivals;
    this.#waiting.push(request);
  }

  delete(request: Request): void {
    const at = this.#waiting.indexOf(request);
    if (at >= 0) this.#waiting.splice(at, 1);
  }

  take(): Request | undefined {
    this.#prefersShort = !this.#prefersShort;
    const [first] = this.#waiting;
    if (!first) return undefined;
    const next = this.#prefersShort
      ? this.#waiting.reduce((least, each) => (nearestToEnd(each, least) < 0 ? each : least))
      : first;
    this.delete(next);
    return next;
  }
}

/** Runs parts of requests one at a time, in the order of `Turns`. */
export class OneByOne {
  readonly #turns = new Turns<Part>();
  #busy = false;

  /** Waits for the request's turn and runs the part. @throws the error of `part` */
  async run<T>(request: TakesTurns, part: () => Promise<T>): Promise<T> {
    await new Promise<void>((begin) => {
      Object.assign(request, { begin });
      this.#turns.push(request);
      if (!this.#busy) this.#next();
    });
    return part().finally(() => this.#next());
  }

  #next(): void {
    const next = this.#turns.take();
    this.#busy = next !== undefined;
    next?.begin?.();
  }
}

interface Part extends TakesTurns {
  begin?: () => void;
}

const nearestToEnd = (a: TakesTurns, b: TakesTurns): number =>
  a.left - b.left || (b.arrived ?? 0) - (a.arrived ?? 0);
