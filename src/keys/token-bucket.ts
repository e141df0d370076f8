import type { BucketState } from '../database/key-record.ts';

const MINUTE = 60_000;
const ROUNDING_MS = 0.01;

export const fullBucket = (perMinute: number, now: number): BucketState => ({ level: perMinute, at: now });

/** The bucket now. A clock that was set back changes nothing; a record without a number counts as empty. */
export function refill(state: BucketState, perMinute: number, now: number): BucketState {
  const added = (Math.max(0, now - state.at) * perMinute) / MINUTE;
  const level = Math.min(perMinute, state.level + added);
  return { level: Number.isFinite(level) ? level : 0, at: now };
}

/** Milliseconds until the level is at least `wanted`; 0 when it is, within rounding. */
export function untilLevel(state: BucketState, wanted: number, perMinute: number): number {
  const ms = ((wanted - state.level) * MINUTE) / perMinute;
  return ms < ROUNDING_MS ? 0 : ms;
}
