import { z } from '#base/full-zod';

import { addedVariantName, weightBytes, weightFile, type WeightFile } from '#catalog';
import { Mutex, untilFailure } from '#base';
import { INDEX, parseStored } from './backends/storage-backend.ts';
import type { WeightStore } from './weight-store.ts';

const entrySchema = z.object({
  /** Ids of the models that it answered for. */
  models: z.array(z.string()),
  /** Milliseconds since 1970 of the last load, or of adding; 0: none. */
  used: z.number(),
  files: z.array(weightFile),
  /** Set until an added model is in the user's list, and from the beginning of its removal. */
  unfinished: z.boolean(),
});

/** A damaged entry is left out. */
const indexSchema = z.record(z.string(), entrySchema.nullable().catch(null));

/** Entry of a variant: its files, from before the first is stored until the last is deleted. */
export type UsageEntry = z.output<typeof entrySchema>;

/** Stands for the entry of a variant that has none. */
export const NO_ENTRY: UsageEntry = { models: [], used: 0, files: [], unfinished: false };

/**
 * Names the files of all variants that this app stores, and when each was loaded. Kept beside the weights, so that
 * outdated and unfinished ones are known.
 */
export class UsageIndex {
  readonly #store: () => Promise<Pick<WeightStore, 'notes'>>;
  readonly #writing = new Mutex();
  /** Reads the index once, and again after a failure: an index that could not be read must not be overwritten. */
  readonly entries = untilFailure(() => this.#read());

  constructor(store: () => Promise<Pick<WeightStore, 'notes'>>) {
    this.#store = store;
  }

  /** Changes a variant's entry. Of its files, the path, size and hash are kept. */
  async update(variant: string, change: Partial<UsageEntry>): Promise<void> {
    const entries = await this.entries();
    const { files, ...entry } = { ...(entries.get(variant) ?? NO_ENTRY), ...change };
    const plain = files.map(({ path, bytes, sha256 }) => ({ path, bytes, sha256 }));
    entries.set(variant, { ...entry, files: plain });
    await this.#write();
  }

  async delete(variant: string): Promise<void> {
    if ((await this.entries()).delete(variant)) await this.#write();
  }

  /** Reads the index. A damaged index counts as empty, as the weights do not depend on it. */
  async #read(): Promise<Map<string, UsageEntry>> {
    const index = await (await this.#store()).notes.note(INDEX);
    const entries = Object.entries(parseStored(index, indexSchema) ?? {});
    return new Map(entries.flatMap(([variant, entry]) => (entry ? [[variant, entry]] : [])));
  }

  async #write(): Promise<void> {
    const { notes } = await this.#store();
    await this.#writing.run(async () => {
      const text = JSON.stringify(Object.fromEntries(await this.entries()));
      await (text === '{}' ? notes.dropNote(INDEX) : notes.keepNote(INDEX, text));
    });
  }
}

const KEPT_MS = 7 * 24 * 60 * 60 * 1000;

interface Variants {
  isListed(name: string): boolean;
  delete(name: string): Promise<void>;
}

/** Added models that are not in the list: adding or removing has not ended. They are kept for a week. */
export class UnfinishedModels {
  readonly #index: UsageIndex;
  readonly #storage: Variants;
  readonly #deleting: Mutex;
  /** Names of models that are being added: several times if several calls add one. */
  readonly #adding: string[] = [];

  constructor(index: UsageIndex, storage: Variants, deleting: Mutex) {
    this.#index = index;
    this.#storage = storage;
    this.#deleting = deleting;
  }

  has(name: string, entry: UsageEntry | undefined): boolean {
    return entry?.unfinished === true && !this.#storage.isListed(name);
  }

  /** Predicts the files of a model with this name, from an interrupted attempt if its total size is equal. */
  async expected(slug: string, bytes: number): Promise<WeightFile[]> {
    const entries = [...(await this.#index.entries())];
    const isAttempt = ([name, entry]: [string, UsageEntry]): boolean =>
      this.has(name, entry) && name.startsWith(addedVariantName(slug, '')) && weightBytes(entry) === bytes;
    return entries.find(isAttempt)?.[1].files ?? [{ path: slug, bytes, sha256: 'to be added' }];
  }

  /** Names the files of a model before any is stored. Until `end()`, nothing deletes them. */
  async begin(name: string, files: WeightFile[]): Promise<void> {
    this.#adding.push(name);
    await this.#deleting.run(() => this.#index.update(name, { used: Date.now(), files, unfinished: true }));
  }

  isAdding(name: string): boolean {
    return this.#adding.includes(name);
  }

  /** Ends adding. @param isKept whether the files of a model that is not in the list stay for a week */
  async end(name: string, isKept: boolean): Promise<void> {
    this.#adding.splice(this.#adding.indexOf(name), 1);
    if (this.#storage.isListed(name)) await this.#index.update(name, { unfinished: false });
    else if (!isKept && !this.isAdding(name)) await this.#storage.delete(name);
  }

  async dropExpired(): Promise<void> {
    const oldest = Date.now() - KEPT_MS;
    for (const [name, entry] of await this.#index.entries())
      if (this.has(name, entry) && entry.used < oldest) await this.#storage.delete(name);
  }
}
