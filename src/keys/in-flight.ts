import { holdLock } from '../protocol/locks.ts';

const PREFIX = 'localtext:in-flight:';

/**
 * Counts what a key has running with Web Locks, one a request: the browser releases them with their holder. A service
 * worker that is killed leaves no count behind, and every tab and worker of the origin counts the same.
 * @returns what ends the count; null: `limit` are running already
 */
export async function enterInFlight(
  locks: LockManager,
  keyId: string,
  requestId: string,
  limit: number,
): Promise<(() => void) | null> {
  const prefix = `${PREFIX}${keyId}:`;
  const release = await holdLock(locks, prefix + requestId);
  // Counted while it is held: of two at once both may be refused, but they never exceed the limit together.
  const { held = [] } = await locks.query();
  if (held.filter((lock) => lock.name?.startsWith(prefix)).length <= limit) return release;
  release();
  return null;
}
