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
export function usageIndex(store: () => Promise<Pick<WeightStore, 'notes'>>) {
  const writing = new Mutex();

  /**
   * Reads the index once, and again after a failure: an index that could not be read must not be overwritten. A damaged
   * index counts as empty, as the weights do not depend on it.
   */
  const entries = untilFailure(async () => {
    const index = await (await store()).notes.note(INDEX);
    const known = Object.entries(parseStored(index, indexSchema) ?? {});
    return new Map<string, UsageEntry>(
      known.flatMap(([variant, entry]) => (entry ? [[variant, entry]] : [])),
    );
  });

  async function write(): Promise<void> {
    const { notes } = await store();
    await writing.run(async () => {
      const text = JSON.stringify(Object.fromEntries(await entries()));
      await (text === '{}' ? notes.dropNote(INDEX) : notes.keepNote(INDEX, text));
    });
  }

  return {
    entries,
    /** Changes a variant's entry. Of its files, the path, size and hash are kept. */
    async update(variant: string, change: Partial<UsageEntry>): Promise<void> {
      const known = await entries();
      const { files, ...entry } = { ...(known.get(variant) ?? NO_ENTRY), ...change };
      const plain = files.map(({ path, bytes, sha256 }) => ({ path, bytes, sha256 }));
      known.set(variant, { ...entry, files: plain });
      await write();
    },
    async delete(variant: string): Promise<void> {
      if ((await entries()).delete(variant)) await write();
    },
  };
}

const KEPT_MS = 7 * 24 * 60 * 60 * 1000;

interface Variants {
  isListed(name: string): boolean;
  delete(name: string): Promise<void>;
}

/** Added models that are not in the list: adding or removing has not ended. They are kept for a week. */
export function unfinishedModels(index: ReturnType<typeof usageIndex>, storage: Variants, deleting: Mutex) {
  /** Names of models that are being added: several times if several calls add one. */
  const adding: string[] = [];
  const has = (name: string, entry: UsageEntry | undefined): boolean =>
    entry?.unfinished === true && !storage.isListed(name);
  const isAdding = (name: string): boolean => adding.includes(name);
  return {
    has,
    isAdding,
    /** Predicts the files of a model with this name, from an interrupted attempt if its total size is equal. */
    async expected(slug: string, bytes: number): Promise<WeightFile[]> {
      const isAttempt = ([name, entry]: [string, UsageEntry]): boolean =>
        has(name, entry) && name.startsWith(addedVariantName(slug, '')) && weightBytes(entry) === bytes;
      const attempt = [...(await index.entries())].find(isAttempt);
      return attempt?.[1].files ?? [{ path: slug, bytes, sha256: 'to be added' }];
    },
    /** Names the files of a model before any is stored. Until `end()`, nothing deletes them. */
    async begin(name: string, files: WeightFile[]): Promise<void> {
      adding.push(name);
      await deleting.run(() => index.update(name, { used: Date.now(), files, unfinished: true }));
    },
    /** Ends adding. @param isKept whether the files of a model that is not in the list stay for a week */
    async end(name: string, isKept: boolean): Promise<void> {
      adding.splice(adding.indexOf(name), 1);
      if (storage.isListed(name)) await index.update(name, { unfinished: false });
      else if (!isKept && !isAdding(name)) await storage.delete(name);
    },
    async dropExpired(): Promise<void> {
      const oldest = Date.now() - KEPT_MS;
      for (const [name, entry] of await index.entries())
        if (has(name, entry) && entry.used < oldest) await storage.delete(name);
    },
  };
}
