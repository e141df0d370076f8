import { Executor } from './executor.ts';
import { nextPart, type Parts } from './policy.ts';

let arrivals = 0;

export const inParts = (left: number): Parts => ({ left, arrived: arrivals++ });

/** Runs parts of requests one at a time, in the order of `nextPart()`. */
export class PartQueue {
  #computed = 0;
  readonly #executor = new Executor<Parts>(({ waiting, running }) => {
    if (running.length > 0) return {};
    const job = nextPart(
      waiting.map((each) => each.job),
      this.#computed,
    );
    if (!job) return {};
    this.#computed++;
    return { begin: { job, as: job } };
  });

  /** Waits until the part is due and runs the part. @throws the error of `part` */
  async run<T>(request: Parts, part: () => Promise<T>): Promise<T> {
    const leave = await this.#executor.enter(request);
    return part().finally(leave);
  }
}
