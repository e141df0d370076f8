import type { Claim } from '../../src/scheduling/job-queue.ts';

/** A claim of a client's job that yields to none, unless `others` says otherwise. */
export const claim = (client = '', others: Partial<Claim> = {}): Claim => ({
  client,
  class: 'none',
  pauses: 0,
  mayBeAbandoned: false,
  pause: () => undefined,
  ...others,
});
