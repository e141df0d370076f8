import { fatalLoadsKey, type LoadRecords, loadsKey } from '../../protocol/worker-control.ts';

/**
 * The loads of this page's engine, in `localStorage`: a page that ends without a farewell leaves them there. A page that is left, or
 * hidden, takes them back: its end says nothing about the model.
 */
export class StoredLoads implements LoadRecords {
  readonly #scope: string;
  readonly #stopped = new AbortController();
  #begun: readonly string[] = [];

  constructor(scope: string) {
    this.#scope = scope;
    const left = read(loadsKey(scope));
    if (left.length > 0) write(fatalLoadsKey(scope), [...new Set([...read(fatalLoadsKey(scope)), ...left])]);
    this.#store();
    const { signal } = this.#stopped;
    addEventListener('pagehide', () => this.#store(true), { signal });
    document.addEventListener('visibilitychange', () => this.#store(), { signal });
  }

  async begun(variants: readonly string[]): Promise<void> {
    this.#begun = variants;
    this.#store();
  }

  async fatal(): Promise<string[]> {
    return read(fatalLoadsKey(this.#scope));
  }

  /** The worker has ended, and the page has not. */
  stop(): void {
    this.#stopped.abort();
    this.#store(true);
  }

  #store(isLeft = document.visibilityState === 'hidden'): void {
    write(loadsKey(this.#scope), isLeft ? [] : this.#begun);
  }
}

/** Reads names from the storage; empty where the browser refuses it. */
function read(key: string): string[] {
  try {
    const names: unknown = JSON.parse(localStorage.getItem(key) ?? '[]');
    return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
  } catch {
    return [];
  }
}

function write(key: string, names: readonly string[]): void {
  try {
    if (names.length > 0) localStorage.setItem(key, JSON.stringify(names));
    else localStorage.removeItem(key);
  } catch {
    // As above.
  }
}
