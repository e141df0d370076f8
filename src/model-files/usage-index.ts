import { z } from 'zod';
import { weightFile } from '../catalog/weight-path.ts';
import { Mutex } from '../util/async.ts';
import type { WeightStore } from './weight-store.ts';

const entrySchema = z.object({
  /** Ids that it answered for. */
  models: z.array(z.string()),
  /** Milliseconds since 1970. */
  used: z.number(),
  files: z.array(weightFile),
});

/** A variant that was loaded once. */
export type UsageEntry = z.output<typeof entrySchema>;

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

  /** What is known of a file beside its path, size and hash is not kept. */
  async set(variant: string, { files, ...entry }: UsageEntry): Promise<void> {
    const plain = files.map(({ path, bytes, sha256 }) => ({ path, bytes, sha256 }));
    (await this.entries()).set(variant, { ...entry, files: plain });
    await this.#write();
  }

  async delete(variant: string): Promise<void> {
    if ((await this.entries()).delete(variant)) await this.#write();
  }

  /** A damaged index is replaced by an empty one: the weights do not depend on it. */
  async #read(): Promise<Map<string, UsageEntry>> {
    const entries = new Map<string, UsageEntry>();
    try {
      const parsed: unknown = JSON.parse((await (await this.#store).notes.note(NOTE)) ?? '{}');
      for (const [variant, entry] of Object.entries(Object(parsed))) {
        const { data } = entrySchema.safeParse(entry);
        if (data) entries.set(variant, data);
      }
    } catch {
      entries.clear();
    }
    return entries;
  }

  async #write(): Promise<void> {
    const text = JSON.stringify(Object.fromEntries(await this.entries()));
    const { notes } = await this.#store;
    await this.#writing.run(() => (text === '{}' ? notes.dropNote(NOTE) : notes.keepNote(NOTE, text)));
  }
}
