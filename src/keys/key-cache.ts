import type { KeyRecord } from '#database';
import { keyCacheLock } from '#protocol';

export interface KnownKey {
  hash: string;
  record: KeyRecord;
}

/** Interval at which a change is announced again: a cache may have begun since. */
const REPEAT_MS = 50;

/**
 * Copies of keys in memory. Its owner holds a lock while it has copies: a change of a key asks it to drop
 * them, and waits for the lock. If the owner ends, the browser releases the lock.
 */
export class KeyCache {
  readonly #lock: string;
  readonly #locks: LockManager;
  readonly #keys = new Map<string, KnownKey>();
  #database: object | null = null;
  #holding: Promise<boolean> | null = null;
  #release = (): void => undefined;
  /** How often the copies were dropped: what was read before must not be kept. */
  #drops = 0;

  constructor(scope: string, locks: LockManager) {
    this.#lock = keyCacheLock(scope);
    this.#locks = locks;
    new BroadcastChannel(this.#lock).onmessage = () => this.#drop();
  }

  /** Finds a key by its secret. @param database another one has other keys: the user may clear the data */
  async find(
    database: object,
    secret: string,
    load: () => Promise<KnownKey | null>,
  ): Promise<KnownKey | null> {
    if (database !== this.#database) this.#drop();
    this.#database = database;
    const known = this.#keys.get(secret);
    if (known) return known;
    this.#holding ??= this.#hold();
    const isHeld = await this.#holding;
    const drops = this.#drops;
    const loaded = await load();
    if (loaded && isHeld && drops === this.#drops) this.#keys.set(secret, loaded);
    return loaded;
  }

  /** Takes the lock. Resolves to false while a change runs, or another service worker holds it. */
  #hold(): Promise<boolean> {
    return new Promise((resolve) => {
      const hold = (lock: Lock | null): Promise<void> | null => {
        this.#holding = lock && Promise.resolve(true);
        resolve(lock !== null);
        return lock && new Promise<void>((release) => (this.#release = release));
      };
      this.#locks.request(this.#lock, { ifAvailable: true }, hold).catch(() => {
        // A script has stolen it.
        this.#drop();
        resolve(false);
      });
    });
  }

  #drop(): void {
    this.#drops++;
    this.#keys.clear();
    this.#holding = null;
    this.#release();
  }
}

/** Resolves once no copy of a key from before is in use. */
export async function dropCopies(scope: string, locks: LockManager): Promise<void> {
  const channel = new BroadcastChannel(keyCacheLock(scope));
  const ask = (): void => channel.postMessage(null);
  ask();
  const timer = setInterval(ask, REPEAT_MS);
  try {
    await locks.request(keyCacheLock(scope), () => undefined);
  } finally {
    clearInterval(timer);
    channel.close();
  }
}
