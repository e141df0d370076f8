/**
 * Web Locks tell who is alive: the browser releases them when their holder dies, however it dies.
 * Every name starts with `localtext:`, so that a site's own locks are never met.
 */

/** Tabs queue for it; the holder is the leader and owns the engine worker. */
export const LEADER_LOCK = 'localtext:leader';

/** Held by the engine worker itself: whoever gets it knows that the worker of that epoch is gone. */
export const engineLock = (epoch: string): string => `localtext:engine:${epoch}`;

/** Held by the asker while its request runs. */
export const REQUEST_LOCK_PREFIX = 'localtext:request:';
export const requestLock = (id: string): string => `${REQUEST_LOCK_PREFIX}${id}`;
