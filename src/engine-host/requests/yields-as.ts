import type { Job } from '#jobs';
import type { Origin } from '#protocol';
import type { Yielding } from '#scheduling';
import { rulesOf } from './job-rules.ts';

/** Maximum work of a job that yields only to clients with fewer slots, in reply tokens. */
const MIN_PAUSED = 32;
/** Maximum work of a short job, in reply tokens. It yields to streamed jobs and to jobs of at most `MIN_PAUSED`. */
const SHORT = 128;

/**
 * Decides which jobs a job yields its slot to; null if it never yields. A paused decision loses only the current
 * question, a transcription at most its current window. A stream yields only to clients with fewer slots, and never
 * if it would have to restart.
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
