const MINUTE = 60_000;

/** A bucket that holds one minute's worth and fills steadily. Kept in the database, so that a restart changes nothing. */
export interface BucketState {
  /** Below zero: more was used than there was, as tokens are counted after the fact. */
  level: number;
  /** When it had that level, in milliseconds since 1970. */
  at: number;
}

export const fullBucket = (perMinute: number, now: number): BucketState => ({ level: perMinute, at: now });

/** The bucket now. A clock that was set back adds nothing and takes nothing. */
export function refill(state: BucketState, perMinute: number, now: number): BucketState {
  const added = (Math.max(0, now - state.at) * perMinute) / MINUTE;
  return { level: Math.min(perMinute, state.level + added), at: now };
}

/** Milliseconds until the level is at least `wanted`; 0 when it is. */
export function untilLevel(state: BucketState, wanted: number, perMinute: number): number {
  return Math.max(0, ((wanted - state.level) * MINUTE) / perMinute);
}
