import { fatalLoadsKey, loadsKey, type LoadRecords } from '#protocol';

/**
 * Age after which a load that ended its tab is tried again: the device may have been short of memory by
 * chance.
 */
const MAX_AGE_MS = 30 * 24 * 3600 * 1000;

/**
 * How long a load stays refused after the page was told why, so that a page that retries at once does not
 * crash again.
 */
const REFUSED_MS = 10 * 60_000;

/** Time at which a tab ended with each load, in milliseconds since 1970, by the load's id. */
type Fatal = Record<string, number>;

/**
 * Running loads of this page's engine, in `localStorage`. A page that crashes leaves them there. A page that
 * is left or hidden removes them: its end says nothing about the model.
 */
export class LoadJournal implements LoadRecords {
  readonly #scope: string;
  readonly #stopped = new AbortController();
  #begun: readonly string[] = [];

  constructor(scope: string) {
    this.#scope = scope;
    const interrupted = read<string[]>(loadsKey(scope));
    if (Array.isArray(interrupted) && interrupted.length > 0) {
      const fatal = Object.fromEntries(interrupted.map((id) => [id, Date.now()]));
      write(fatalLoadsKey(scope), { ...readFatal(scope), ...fatal });
    }
    this.#store();
    const { signal } = this.#stopped;
    addEventListener('pagehide', () => this.#store(true), { signal });
    document.addEventListener('visibilitychange', () => this.#store(), { signal });
  }

  async begun(loads: readonly string[]): Promise<void> {
    this.#begun = loads;
    this.#store();
  }

  async fatal(): Promise<string[]> {
    return Object.keys(readFatal(this.#scope));
  }

  async refused(load: string): Promise<void> {
    const { [load]: at = 0, ...others } = readFatal(this.#scope);
    const recordedAt = Date.now() - MAX_AGE_MS + REFUSED_MS;
    if (at > recordedAt) write(fatalLoadsKey(this.#scope), { ...others, [load]: recordedAt });
  }

  /** Removes the running loads: the worker has ended, but the page has not crashed. */
  stop(): void {
    this.#stopped.abort();
    this.#store(true);
  }

  #store(isLeft = document.visibilityState === 'hidden'): void {
    const begun = isLeft ? [] : this.#begun;
    write(loadsKey(this.#scope), begun.length > 0 ? begun : null);
  }
}

function readFatal(scope: string): Fatal {
  const entries = Object.entries(read<Fatal>(fatalLoadsKey(scope)) ?? {});
  const now = Date.now();
  // A time in the future: the clock has been set back since.
  return Object.fromEntries(entries.filter(([, at]) => at <= now && now - at < MAX_AGE_MS));
}

/** Reads what `write` stored; null if the browser refuses storage. */
function read<T>(key: string): T | null {
  try {
    return JSON.parse(localStorage.getItem(key) ?? 'null') as T | null;
  } catch {
    return null;
  }
}

function write(key: string, value: Fatal | readonly string[] | null): void {
  try {
    if (value) localStorage.setItem(key, JSON.stringify(value));
    else localStorage.removeItem(key);
  } catch {
    // The browser refuses storage.
  }
}
