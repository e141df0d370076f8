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
export function createLease(options: LeaseOptions) {
  const { client, pauses, hasLongParts, restarts, isBackground } = options;
  const jobClass = classOf(options);
  // Two tabs that share the engine would otherwise keep discarding each other's parts.
  const keepsPart = hasLongParts && (jobClass === 'sharing' || pauses >= maxCutParts);
  const over = new AbortController();
  const end = (): void => over.abort(new JobPaused('The job yields its slot to others.'));
  let mustPause = false;
  const claim: Claim = {
    client,
    class: jobClass,
    pauses,
    mayBeAbandoned: isBackground,
    pause() {
      mustPause = true;
      if (!keepsPart) end();
    },
  };
  return {
    claim,
    /** Aborts with a `JobPaused`. */
    over: over.signal,

    /** Yields the slot if another job was waiting for the end of a part. */
    endPart(): void {
      if (mustPause) end();
    },

    /**
     * Waits until the reader has taken an event. A reader that does not, such as in a tab blocked by a dialog, must
     * not keep a slot that others wait for, even if its job has to restart.
     */
    async whileUnread(sent: Promise<void>, queue: Pick<JobQueue, 'queued'>): Promise<void> {
      const timer = setInterval(() => queue.queued > 0 && end(), restarts ? unreadRestarting : unread);
      await sent.finally(() => clearInterval(timer));
    },
  };
}
