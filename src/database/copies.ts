import { copiesLock } from '#protocol';

/** Interval at which a change is announced again: copies may have been made since. */
const REPEAT_MS = 50;

/**
 * Copies of keys and settings in memory. Their owner holds a lock while it has copies: a change asks it to
 * drop them, and waits for the lock. If the owner ends, the browser releases the lock.
 */
export class Copies {
  readonly #lock: string;
  readonly #locks: LockManager;
  readonly #copies = new Map<string, object>();
  readonly #loading = new Map<string, Promise<object | null>>();
  #database: object | null = null;
  #holding: Promise<boolean> | null = null;
  #release = (): void => undefined;
  /** How often the copies were dropped: what was read before must not be kept. */
  #drops = 0;

  constructor(scope: string, locks: LockManager) {
    this.#lock = copiesLock(scope);
    this.#locks = locks;
    new BroadcastChannel(this.#lock).onmessage = () => this.#drop();
  }

  /** Takes the lock, which may be done before there is a copy. Resolves to whether it is held. */
  prepare(): Promise<boolean> {
    return (this.#holding ??= this.#hold());
  }

  /**
   * Returns the copy of this name. The first call loads it, and calls meanwhile share that; null is not kept.
   * @param database another one has other data: the user may clear it
   */
  async get<T extends object>(
    database: object,
    name: string,
    load: () => Promise<T | null>,
  ): Promise<T | null> {
    if (database !== (this.#database ??= database)) this.#drop();
    this.#database = database;
    const known = this.peek<T>(name);
    if (known) return known;
    const loading = this.#loading.get(name) ?? this.#load(name, load);
    this.#loading.set(name, loading);
    return loading as Promise<T | null>;
  }

  async #load(name: string, load: () => Promise<object | null>): Promise<object | null> {
    const held = this.prepare();
    const drops = this.#drops;
    try {
      const isHeld = await held;
      const loaded = await load();
      if (loaded && isHeld && drops === this.#drops) this.#copies.set(name, loaded);
      return loaded;
    } finally {
      if (drops === this.#drops) this.#loading.delete(name);
    }
  }

  /** Returns the copy of this name if there is one. The name determines the type. */
  peek<T extends object>(name: string): T | null {
    return (this.#copies.get(name) as T | undefined) ?? null;
  }

  /** Takes the lock. Resolves to false while a change runs, or another service worker holds it. */
  #hold(): Promise<boolean> {
    const drops = this.#drops;
    return new Promise((resolve) => {
      const hold = (lock: Lock | null): Promise<void> | null => {
        // A change that came meanwhile waits for the lock.
        const isHeld = lock !== null && drops === this.#drops;
        if (drops === this.#drops) this.#holding = isHeld ? Promise.resolve(true) : null;
        resolve(isHeld);
        return isHeld ? new Promise<void>((release) => (this.#release = release)) : null;
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
    this.#copies.clear();
    this.#loading.clear();
    this.#holding = null;
    this.#release();
  }
}

/** Resolves once no copy from before is in use. */
export async function dropCopies(scope: string, locks: LockManager): Promise<void> {
  const channel = new BroadcastChannel(copiesLock(scope));
  const ask = (): void => channel.postMessage(null);
  ask();
  const timer = setInterval(ask, REPEAT_MS);
  try {
    await locks.request(copiesLock(scope), () => undefined);
  } finally {
    clearInterval(timer);
    channel.close();
  }
}
