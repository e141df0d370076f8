import type { Claim, JobQueue } from './job-queue.ts';
import { classOf, type JobTraits, POLICY } from './policy.ts';

const { maxCutParts, unread, unreadRestarting } = POLICY.job;

/** Thrown if a job yields its slot to others. Its requester sends it again. */
export class JobPaused extends Error {}

export interface LeaseOptions extends JobTraits {
  client: string;
  /** How often the job was paused before. */
  pauses: number;
  /** Whether a pause discards a part of the answer that takes seconds: it then waits for the end of a part. */
  hasLongParts: boolean;
}

/** A job's hold on a slot, which ends early if the job yields to others. */
export class Lease {
  readonly claim: Claim;
  readonly #over = new AbortController();
  readonly #unreadMs: number;
  #mustPause = false;

  constructor(options: LeaseOptions) {
    const { client, pauses, hasLongParts, restarts, isBackground } = options;
    const jobClass = classOf(options);
    // Two tabs that share the engine would otherwise keep discarding each other's parts.
    const keepsPart = hasLongParts && (jobClass === 'sharing' || pauses >= maxCutParts);
    const pause = (): void => {
      this.#mustPause = true;
      if (!keepsPart) this.#end();
    };
    this.claim = { client, class: jobClass, pauses, mayBeAbandoned: isBackground, pause };
    this.#unreadMs = restarts ? unreadRestarting : unread;
  }

  /** Aborts with a `JobPaused`. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** Yields the slot if another job was waiting for the end of a part. */
  endPart(): void {
    if (this.#mustPause) this.#end();
  }

  /**
   * Waits until the reader has taken an event. A reader that does not, such as in a tab blocked by a dialog, must
   * not keep a slot that others wait for, even if its job has to restart.
   */
  async whileUnread(sent: Promise<void>, queue: Pick<JobQueue, 'queued'>): Promise<void> {
    const timer = setInterval(() => queue.queued > 0 && this.#end(), this.#unreadMs);
    await sent.finally(() => clearInterval(timer));
  }

  #end(): void {
    this.#over.abort(new JobPaused('The job yields its slot to others.'));
  }
}
