import type { WeightStore } from './weight-store.ts';

/** What is remembered of a variant that was loaded once. */
export interface UsageEntry {
  /** Ids that it answered for. */
  models: string[];
  /** Milliseconds since 1970. */
  used: number;
  files: { path: string; bytes: number; sha256: string }[];
}

const NOTE = 'ledger';

/** Which variants were loaded, and when: kept beside the weights, so that outdated ones are still known. */
export class UsageIndex {
  readonly #store: WeightStore;
  #entries: Promise<Map<string, UsageEntry>> | null = null;
  #writing: Promise<void> = Promise.resolve();

  constructor(store: WeightStore) {
    this.#store = store;
  }

  entries(): Promise<Map<string, UsageEntry>> {
    return (this.#entries ??= this.#read());
  }

  async set(variant: string, entry: UsageEntry): Promise<void> {
    (await this.entries()).set(variant, entry);
    await this.#write();
  }

  async delete(variant: string): Promise<void> {
    if ((await this.entries()).delete(variant)) await this.#write();
  }

  /** An index that is damaged or cannot be read is begun again: the weights do not depend on it. */
  async #read(): Promise<Map<string, UsageEntry>> {
    const entries = new Map<string, UsageEntry>();
    try {
      const parsed: unknown = JSON.parse((await this.#store.note(NOTE)) ?? '{}');
      for (const [variant, entry] of Object.entries(parsed ?? {})) {
        if (isEntry(entry)) entries.set(variant, entry);
      }
    } catch {
      entries.clear();
    }
    return entries;
  }

  async #write(): Promise<void> {
    const text = JSON.stringify(Object.fromEntries(await this.entries()));
    this.#writing = this.#writing.then(
      () => this.#store.keepNote(NOTE, text),
      () => this.#store.keepNote(NOTE, text),
    );
    await this.#writing;
  }
}

function isEntry(value: unknown): value is UsageEntry {
  const { models, used, files } = (value ?? {}) as Partial<UsageEntry>;
  return (
    Array.isArray(models) &&
    typeof used === 'number' &&
    Array.isArray(files) &&
    files.every(
      ({ path, bytes, sha256 }) => typeof path === 'string' && bytes > 0 && /^[0-9a-f]{64}$/.test(sha256),
    )
  );
}
