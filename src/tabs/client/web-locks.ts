import { engineLock } from '../../protocol/locks.ts';

/**
 * Calls back once the worker of that epoch is gone; the function returned stops the watch. Shared, so that all who
 * watch hear of it at once.
 */
export function watchEngine(locks: LockManager, epoch: string, onGone: () => void): () => void {
  const watch = new AbortController();
  locks
    .request(engineLock(epoch), { mode: 'shared', signal: watch.signal }, onGone)
    .catch((error: unknown) => {
      if (!watch.signal.aborted) throw error;
    });
  return () => watch.abort();
}
