import { Executor } from './executor.ts';
import { nextPart, type Parts, type Served } from './policy.ts';

let arrivals = 0;

/** @param client of a request without one: '' */
export const inParts = (left: number, client = ''): Parts => ({ left, client, arrived: arrivals++ });

/** The turns of requests that are computed in parts, as `nextPart()` decides. */
export class PartTurns {
  readonly #served = new Map<string, Served>();
  #computed = 0;

  /** Takes the next turn. @param requests in the order in which they began to wait */
  next<Request extends Parts>(requests: readonly Request[]): Request | undefined {
    const next = nextPart(requests, this.#served);
    if (!next) this.#served.clear();
    else {
      const { count = 0 } = this.#served.get(next.client) ?? {};
      this.#served.set(next.client, { count: count + 1, at: this.#computed++ });
    }
    return next;
  }
}

/** Runs parts of requests one at a time. */
export class PartQueue {
  readonly #turns = new PartTurns();
  readonly #executor = new Executor<Parts>(({ waiting, running }) => {
    if (running.length > 0) return {};
    const job = this.#turns.next(waiting.map((each) => each.job));
    return job ? { begin: { job, as: job } } : {};
  });

  /** Waits until the part is due and runs the part. @throws the error of `part` */
  async run<T>(request: Parts, part: () => Promise<T>): Promise<T> {
    const leave = await this.#executor.enter(request);
    return part().finally(leave);
  }
}
