import { engineLock } from '../../protocol/locks.ts';

/** Resolves once the lock is held, to the function that lets go of it. */
export function holdLock(locks: LockManager, name: string, signal: AbortSignal): Promise<() => void> {
  return new Promise((resolve, reject) => {
    locks.request(name, { signal }, () => new Promise<void>((release) => resolve(release))).catch(reject);
  });
}

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
