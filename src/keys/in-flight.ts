import { holdLock } from '../protocol/locks.ts';

const PREFIX = 'localtext:in-flight:';

/** Counts what a key has running. */
export interface InFlight {
  /** Null: `limit` are running already. */
  enter(keyId: string, requestId: string, limit: number): Promise<(() => void) | null>;
}

/**
 * Counts with Web Locks, one a request: the browser drops them with their holder, so that a service worker that
 * is killed leaves no count behind, and every tab and worker of the origin counts the same.
 */
export function lockedInFlight(locks: LockManager): InFlight {
  return {
    async enter(keyId, requestId, limit) {
      const prefix = `${PREFIX}${keyId}:`;
      const leave = await holdLock(locks, prefix + requestId);
      // Counted once it is held: two that come together may both be refused, never both let in past the limit.
      const { held = [] } = await locks.query();
      if (held.filter((lock) => lock.name?.startsWith(prefix)).length <= limit) return leave;
      leave();
      return null;
    },
  };
}

/** For where there are no Web Locks: counts this realm alone. */
export function localInFlight(): InFlight {
  const running = new Map<string, number>();
  return {
    async enter(keyId, _requestId, limit) {
      const count = running.get(keyId) ?? 0;
      if (count >= limit) return null;
      running.set(keyId, count + 1);
      let left = false;
      return () => {
        if (left) return;
        left = true;
        running.set(keyId, (running.get(keyId) ?? 1) - 1);
      };
    },
  };
}
