import { Mutex } from '../protocol/mutex.ts';
import type { WeightStore } from './weight-store.ts';

/** A variant that was loaded once. */
export interface UsageEntry {
  /** Ids that it answered for. */
  models: string[];
  /** Milliseconds since 1970. */
  used: number;
  files: { path: string; bytes: number; sha256: string }[];
}

/** The name that earlier versions read and wrote. */
const NOTE = 'ledger';

/** Which variants were loaded, and when. Kept beside the weights, so that outdated ones are still known. */
export class UsageIndex {
  readonly #store: Promise<Pick<WeightStore, 'notes'>>;
  readonly #writing = new Mutex();
  #entries: Promise<Map<string, UsageEntry>> | null = null;

  constructor(store: Promise<Pick<WeightStore, 'notes'>>) {
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

  /** A damaged index is replaced by an empty one: the weights do not depend on it. */
  async #read(): Promise<Map<string, UsageEntry>> {
    try {
      const parsed = JSON.parse((await (await this.#store).notes.note(NOTE)) ?? '{}') as object | null;
      return new Map(
        Object.entries(parsed ?? {}).filter((each): each is [string, UsageEntry] => isEntry(each[1])),
      );
    } catch {
      return new Map();
    }
  }

  async #write(): Promise<void> {
    const text = JSON.stringify(Object.fromEntries(await this.entries()));
    const { notes } = await this.#store;
    await this.#writing.run(() => notes.keepNote(NOTE, text));
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
