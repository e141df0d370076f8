import { abortable, delay, withTimeout } from './async.ts';

/**
 * Pause between pings, and time limit of a ping. On a busy machine, Firefox has stopped workers permanently
 * while they started another one. No task of the engine takes this long.
 */
export const PING_MS = 10_000;
const MISSED_PINGS = 2;

/**
 * Resolves when `MISSED_PINGS` pings in a row, each after a pause, are not answered. A single one may be a
 * device that slept.
 */
export async function whenStuck(ping: () => Promise<void>, signal: AbortSignal): Promise<void> {
  for (let missed = 0; missed < MISSED_PINGS;) {
    await delay(PING_MS, signal);
    // A worker that refuses the call, being of another version, runs as well.
    const answered = await abortable(withTimeout(Promise.allSettled([ping()]), PING_MS), signal);
    missed = answered ? 0 : missed + 1;
  }
}
