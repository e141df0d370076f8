import type { Job } from '../../jobs/kinds.ts';
import type { Origin } from '../../protocol/engine-port.ts';
import type { Yielding } from '../../engines/slot-queue.ts';
import { rulesOf } from './job-rules.ts';

/** Work of a job that gives way at most to clients with fewer slots, in tokens of a reply. */
const MIN_PAUSED = 32;
/** Work of a job that gives way only where such a one, or a streamed one, is waiting. */
const SHORT = 128;

/**
 * What the job yields its slot as; null if it never does. A decision loses only the question under way, a transcription nothing. A
 * stream gives way only to clients with fewer slots; one with a constraint or log probabilities would begin again.
 */
export function yieldsAs(job: Job, origin: Origin | undefined): Yielding['as'] | null {
  const { work: estimate, restarts, yieldsWhenShort } = rulesOf(job.kind);
  const work = estimate(job);
  const isBackground = origin?.background === true;
  const isShort = work <= MIN_PAUSED;
  if (isShort && !(isBackground && yieldsWhenShort?.(job))) return null;
  if (isShort || !isBackground) return restarts?.(job) ? null : 'sharing';
  return work <= SHORT ? 'short' : 'long';
}
