import { holdLock } from '../protocol/locks.ts';

const PREFIX = 'localtext:in-flight:';

/** Counts what a key has running. */
export interface InFlight {
  /** The function it resolves to ends the count. Null: `limit` are running already. */
  enter(keyId: string, requestId: string, limit: number): Promise<(() => void) | null>;
}

/**
 * Counts with Web Locks, one a request: the browser releases them with their holder. A service worker that is killed
 * leaves no count behind, and every tab and worker of the origin counts the same.
 */
export function lockedInFlight(locks: LockManager): InFlight {
  return {
    async enter(keyId, requestId, limit) {
      const prefix = `${PREFIX}${keyId}:`;
      const release = await holdLock(locks, prefix + requestId);
      // Counted while it is held: of two at once both may be refused, but they never exceed the limit together.
      const { held = [] } = await locks.query();
      if (held.filter((lock) => lock.name?.startsWith(prefix)).length <= limit) return release;
      release();
      return null;
    },
  };
}
