import { createDeferred, shared } from '#base';

/**
 * An origin may have several apps, each below its own path with its own service worker: that path is an app's
 * scope (`/`, `/notes/`). Names of data and channels that the tabs of an app share contain the scope, so that
 * apps stay separate. Names with a random id, and files that are found by their hash, need none.
 */
export const scopeOf = (url: string): string => new URL(url).pathname;

/** Prefix of every name of the app. An app at the root has no path in it. */
export const nameIn = (scope: string): string => (scope === '/' ? 'localtext' : `localtext${scope}`);

/**
 * Web Locks show which threads live: the browser releases a lock when its holder ends, in any way. Every name
 * starts with `localtext`, so that none is the same as a lock of the site.
 */

/** Tabs queue for it; the holder is the leader and owns the engine worker. */
export const leaderLock = (scope: string): string => `${nameIn(scope)}:leader`;

/**
 * Held by the leader beside the leader lock. It tells the leader's URL to callers that the leader does not
 * answer.
 */
export const leaderUrlLock = (scope: string, url: string): string => `${nameIn(scope)}:leader:${url}`;

/** Held by the engine worker itself. A tab that acquires it knows that the worker of that epoch has ended. */
export const engineLock = (epoch: string): string => `localtext:engine:${epoch}`;

/** Held by a helper worker. The engine worker waits for it to learn that the helper worker has ended. */
export const helperLock = (id: string): string => `localtext:helper:${id}`;

/** Held by the client of the engine while its request runs. */
export const requestLock = (scope: string, id: string): string => `${nameIn(scope)}:request:${id}`;

/** Held while a weight file is written or removed. Its content names it, for all apps of the origin. */
export const weightLock = (sha256: string): string => `localtext:weights:${sha256}`;

/** Held by each who writes a weight file, or waits to write it: a deletion does not wait for these. */
export const weightWriters = (sha256: string, id = ''): string => `localtext:weights:${sha256}:writers${id}`;

/** Held while copies of keys and settings are in memory. Also the name of the channel that announces changes. */
export const copiesLock = (scope: string): string => `${nameIn(scope)}:copies`;

/** Held while a request of the key runs, at a place below the key's limit. */
export const inFlightLock = (keyId: string, place: number): string => `localtext:in-flight:${keyId}:${place}`;

const queries = new WeakMap<Pick<LockManager, 'query'>, () => Promise<LockManagerSnapshot>>();

/**
 * Lists all locks of the origin. Calls at once share a query: with hundreds of requests it takes milliseconds.
 */
export function queryLocks(locks: Pick<LockManager, 'query'>): Promise<LockManagerSnapshot> {
  const query = queries.get(locks) ?? shared(() => locks.query());
  queries.set(locks, query);
  return query();
}

/** Resolves to the function that releases the lock, or to null if another holds it. */
export const takeLock = (locks: LockManager, name: string): Promise<(() => void) | null> =>
  new Promise((resolve, reject) => {
    const hold = (lock: Lock | null) => (lock ? new Promise<void>(resolve) : resolve(null));
    locks.request(name, { ifAvailable: true }, hold).catch(reject);
  });

/**
 * Holds a lock that shows others that this thread lives; no other thread requests its name. A second request
 * waits behind the first: a script that steals the lock takes neither from `whenReleased`. Resolves to the function
 * that releases it.
 * @throws the signal's reason when aborted before
 */
export const keepLock = (locks: LockManager, name: string, signal?: AbortSignal): Promise<() => void> =>
  new Promise((resolve, reject) => {
    const ended = createDeferred();
    const release = (): void => {
      signal?.removeEventListener('abort', release);
      ended.resolve();
    };
    signal?.addEventListener('abort', release);
    const hold = (): Promise<void> => {
      resolve(release);
      return ended.promise;
    };
    const request = (): void => {
      locks.request(name, signal ? { signal } : {}, hold).catch((error: unknown) => {
        reject(error);
        if (!signal?.aborted && isTheft(error)) request();
      });
    };
    request();
    request();
  });

/**
 * Resolves once the thread that keeps the lock has ended or released it.
 * @throws the signal's reason when aborted before
 */
export async function whenReleased(locks: LockManager, name: string, signal?: AbortSignal): Promise<void> {
  const keeps = (lock: LockInfo): boolean => lock.name === name && lock.mode === 'exclusive';
  for (;;) {
    // Shared, so that all callers that wait for it get it at once.
    const options = { mode: 'shared', ...(signal && { signal }) } as const;
    await locks
      .request(name, options, () => {})
      .catch((error: unknown) => {
        if (signal?.aborted || !isTheft(error)) throw error;
      });
    const { held = [], pending = [] } = await queryLocks(locks);
    signal?.throwIfAborted();
    if (![...held, ...pending].some(keeps)) return;
  }
}

/** Whether another script has taken the lock from its holder, by `steal`. */
const isTheft = (error: unknown): boolean => error instanceof DOMException && error.name === 'AbortError';

/** Prefix of the ids of status requests. */
export const STATUS_ID = 'status-';

/** Whether a request runs in any tab of the app, status requests excepted: a page may ask again and again. */
export async function requestsRun(locks: LockManager, scope: string): Promise<boolean> {
  const { held = [] } = await queryLocks(locks);
  const [any, status] = [requestLock(scope, ''), requestLock(scope, STATUS_ID)];
  const isRunning = (name: string): boolean => name.startsWith(any) && !name.startsWith(status);
  // A shared lock is an engine worker's, which waits for the request's end. Firefox grants it to a stopped worker, too.
  return held.some(({ name = '', mode }) => mode === 'exclusive' && isRunning(name));
}
