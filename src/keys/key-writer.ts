import { withDatabase, withTransaction, type BucketState, type KeyRecord } from '#database';

/** A key's record, by its id or by the hash of a secret. */
export type KeyReference = { id: string } | { hash: string };

interface KeyReader {
  get(id: string): Promise<KeyRecord | undefined>;
  index(name: 'hashes'): { get(hash: string): Promise<KeyRecord | undefined> };
}

/** Changes a record; null: it stays as it is. */
export type Change = (record: KeyRecord) => KeyRecord | null;

interface Write {
  key: KeyReference;
  change: Change;
  resolve(changed: KeyRecord | null): void;
  reject(error: unknown): void;
}

/** Levels of a key that could not be stored because the storage is full. */
type Levels = Record<'requests' | 'tokens', BucketState>;

/**
 * Changes levels of keys. Changes that arrive during a transaction share the next one: hundreds of requests
 * would queue as many transactions, and every other request would wait behind them.
 */
export class KeyWriter {
  readonly #scope: string;
  #waiting: Write[] = [];
  #isWriting = false;
  readonly #unsaved = new Map<string, Levels>();

  constructor(scope: string) {
    this.#scope = scope;
  }

  /**
   * Resolves once the change is stored. If the storage is full, the levels are kept in memory, and requests
   * continue.
   * @returns the changed record; null: there is none, or it is unchanged
   */
  write(key: KeyReference, change: Change): Promise<KeyRecord | null> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ key, change, resolve, reject });
      if (!this.#isWriting) void this.#writeAll();
    });
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    while (this.#waiting.length > 0) {
      const writes = this.#waiting.splice(0);
      try {
        const results = await this.#transact(writes);
        writes.forEach(({ resolve }, index) => resolve(results[index] ?? null));
      } catch (error) {
        for (const { reject } of writes) reject(error);
      }
    }
    this.#isWriting = false;
  }

  async #transact(writes: readonly Write[]): Promise<(KeyRecord | null)[]> {
    try {
      return await withTransaction(this.#scope, 'keys', 'relaxed', async (store) => {
        const { results, changed } = await this.#apply(writes, store);
        for (const record of changed.values()) await store.put(record);
        for (const id of changed.keys()) this.#unsaved.delete(id);
        return results;
      });
    } catch (error) {
      if (!(error instanceof DOMException) || error.name !== 'QuotaExceededError') throw error;
      const { results, changed } = await withDatabase(this.#scope, (database) =>
        this.#apply(writes, database.transaction('keys').store),
      );
      for (const [id, { requests, tokens }] of changed) this.#unsaved.set(id, { requests, tokens });
      return results;
    }
  }

  /** Applies the changes in order, each to the result of those before. */
  async #apply(
    writes: readonly Write[],
    store: KeyReader,
  ): Promise<{ results: (KeyRecord | null)[]; changed: Map<string, KeyRecord> }> {
    const changed = new Map<string, KeyRecord>();
    const reads = new Map<string, Promise<KeyRecord | undefined>>();
    const read = (key: KeyReference): Promise<KeyRecord | undefined> => {
      const name = JSON.stringify(key);
      const reading =
        reads.get(name) ?? ('id' in key ? store.get(key.id) : store.index('hashes').get(key.hash));
      reads.set(name, reading);
      return reading;
    };
    const results: (KeyRecord | null)[] = [];
    for (const { key, change } of writes) {
      const stored = await read(key);
      const before = stored && (changed.get(stored.id) ?? { ...stored, ...this.#unsaved.get(stored.id) });
      const after = before ? change(before) : null;
      if (after) changed.set(after.id, after);
      results.push(after);
    }
    return { results, changed };
  }
}
