import { isQuotaError } from '#base';
import { withDatabase, withTransaction, type BucketState, type Copies, type KeyRecord } from '#database';

/** A record's new state, and what its caller learns from the change. */
export interface Changed<T> {
  /** Null: the record stays as it is. */
  record: KeyRecord | null;
  result: T;
}

export type Change<T> = (record: KeyRecord) => Changed<T>;

/** Copy of a key's record, which all requests of a service worker share. */
export interface KeyCopy {
  record: KeyRecord;
}

/** Name of a record's copy. */
export const copyName = (id: string): string => `key:${id}`;

interface Write {
  id: string;
  change: Change<unknown>;
  /** False: it is stored with the next that is due. */
  isDue: boolean;
  resolve(changed: Changed<unknown> | null): void;
  reject(error: unknown): void;
}

/** How long changes of copies wait to be stored. A request's first token does not wait for the storage then. */
const STORE_DELAY_MS = 100;

/** Levels of a key that could not be stored because the storage is full. */
type Levels = Record<'requests' | 'tokens', BucketState>;

/**
 * Changes levels of keys. Changes that arrive during a transaction share the next one: hundreds of requests
 * would queue as many transactions, and every other request would wait behind them.
 */
export class KeyWriter {
  readonly #scope: string;
  readonly #copies: Copies | undefined;
  #waiting: Write[] = [];
  #isWriting = false;
  readonly #unsaved = new Map<string, Levels>();
  /** Number of changes to copies that are not yet stored, by the key's id. */
  readonly #unstored = new Map<string, number>();

  constructor(scope: string, copies?: Copies) {
    this.#scope = scope;
    this.#copies = copies;
  }

  /**
   * Changes a copy of the record if there is one, and stores the change later. Otherwise resolves once the
   * change is stored. If the storage is full, the levels are kept in memory, and requests continue.
   * @returns null: there is no such record
   */
  async write<T>(id: string, change: Change<T>): Promise<Changed<T> | null> {
    const copy = this.#copies?.peek<KeyCopy>(copyName(id));
    if (!copy) return this.#store(id, change);
    const changed = change(copy.record);
    if (changed.record) {
      copy.record = changed.record;
      void this.#storeLater(id, change);
    }
    return changed;
  }

  /** The record after the changes that wait to be stored, or that a full storage did not take; null: it is gone. */
  async latest(read: KeyRecord): Promise<KeyRecord | null> {
    if (!this.#isWriting && this.#waiting.length === 0) return { ...read, ...this.#unsaved.get(read.id) };
    const changed = await this.#store(read.id, (record) => ({ record: null, result: record }));
    return changed && changed.result;
  }

  /** Makes the same change to the stored record. Other writers may have changed that. */
  async #storeLater(id: string, change: Change<unknown>): Promise<void> {
    this.#unstored.set(id, (this.#unstored.get(id) ?? 0) + 1);
    // The copy counts, so requests continue without the storage.
    const changed = await this.#store(id, change, STORE_DELAY_MS).catch(() => null);
    const left = (this.#unstored.get(id) ?? 0) - 1;
    if (left > 0) {
      this.#unstored.set(id, left);
      return;
    }
    this.#unstored.delete(id);
    const copy = this.#copies?.peek<KeyCopy>(copyName(id));
    if (copy && changed?.record) copy.record = changed.record;
  }

  /** Stores a change, after all that came before it. */
  #store<T>(id: string, change: Change<T>, delayMs = 0): Promise<Changed<T> | null> {
    return new Promise((resolve, reject) => {
      const write = { id, change, resolve: resolve as Write['resolve'], reject, isDue: delayMs === 0 };
      this.#waiting.push(write);
      const begin = (): void => {
        write.isDue = true;
        if (!this.#isWriting) void this.#writeAll();
      };
      if (write.isDue) begin();
      else setTimeout(begin, delayMs);
    });
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    while (this.#waiting.some(({ isDue }) => isDue)) {
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

  async #transact(writes: readonly Write[]): Promise<(Changed<unknown> | null)[]> {
    try {
      return await withTransaction(this.#scope, 'keys', 'relaxed', async (store) => {
        const { results, changed } = await this.#apply(writes, (id) => store.get(id));
        for (const record of changed.values()) await store.put(record);
        for (const id of changed.keys()) this.#unsaved.delete(id);
        return results;
      });
    } catch (error) {
      if (!isQuotaError(error)) throw error;
      const { results, changed } = await withDatabase(this.#scope, (database) =>
        this.#apply(writes, (id) => database.get('keys', id)),
      );
      for (const [id, { requests, tokens }] of changed) this.#unsaved.set(id, { requests, tokens });
      return results;
    }
  }

  /** Applies the changes in order, each to the result of those before. */
  async #apply(
    writes: readonly Write[],
    read: (id: string) => Promise<KeyRecord | undefined>,
  ): Promise<{ results: (Changed<unknown> | null)[]; changed: Map<string, KeyRecord> }> {
    const changed = new Map<string, KeyRecord>();
    const stored = new Map<string, KeyRecord | undefined>();
    const results: (Changed<unknown> | null)[] = [];
    for (const { id, change } of writes) {
      if (!stored.has(id)) stored.set(id, await read(id));
      const record = stored.get(id);
      const before = record && (changed.get(id) ?? { ...record, ...this.#unsaved.get(id) });
      const after = before ? change(before) : null;
      if (after?.record) changed.set(id, after.record);
      results.push(after);
    }
    return { results, changed };
  }
}
