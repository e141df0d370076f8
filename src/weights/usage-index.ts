import { z } from '#base/full-zod';

import { weightBytes, weightFile, type WeightFile } from '#catalog';
import { Mutex } from '#base';
import { parseStored } from './backends/storage-backend.ts';
import type { WeightStore } from './weight-store.ts';

const entrySchema = z.object({
  /** Ids of the models that it answered for. */
  models: z.array(z.string()),
  /** Milliseconds since 1970. */
  used: z.number(),
  files: z.array(weightFile),
});

/** A damaged entry is left out. */
const indexSchema = z.record(z.string(), entrySchema.nullable().catch(null));

/** Entry of a variant that was loaded at least once. */
export type UsageEntry = z.output<typeof entrySchema>;

const NOTE = 'usage';

/** Records which variants were loaded, and when. Kept beside the weights, so that outdated ones are still known. */
export class UsageIndex {
  readonly #store: () => Promise<Pick<WeightStore, 'notes'>>;
  readonly #writing = new Mutex();
  #entries: Promise<Map<string, UsageEntry>> | null = null;

  constructor(store: () => Promise<Pick<WeightStore, 'notes'>>) {
    this.#store = store;
  }

  entries(): Promise<Map<string, UsageEntry>> {
    return (this.#entries ??= this.#read());
  }

  /** Records the use of a variant, with the path, size and hash of each file. */
  async set(variant: string, { files, ...entry }: UsageEntry): Promise<void> {
    const plain = files.map(({ path, bytes, sha256 }) => ({ path, bytes, sha256 }));
    (await this.entries()).set(variant, { ...entry, files: plain });
    await this.#write();
  }

  async delete(variant: string): Promise<void> {
    if ((await this.entries()).delete(variant)) await this.#write();
  }

  /** Reads the index. A damaged index counts as empty, as the weights do not depend on it. */
  async #read(): Promise<Map<string, UsageEntry>> {
    const text = await (await this.#store()).notes.note(NOTE).catch(() => null);
    const entries = Object.entries(parseStored(text, indexSchema) ?? {});
    return new Map(entries.flatMap(([variant, entry]) => (entry ? [[variant, entry]] : [])));
  }

  async #write(): Promise<void> {
    const text = JSON.stringify(Object.fromEntries(await this.entries()));
    const { notes } = await this.#store();
    await this.#writing.run(() => (text === '{}' ? notes.dropNote(NOTE) : notes.keepNote(NOTE, text)));
  }
}

const PREFIX = 'unfinished/';
const KEPT_MS = 7 * 24 * 60 * 60 * 1000;

/** Whether an entry's name is that of an incomplete added model. */
export const isUnfinished = (name: string): boolean => name.startsWith(PREFIX);

const nameOf = (slug: string, files: readonly WeightFile[]): string =>
  `${PREFIX}${slug}-${(files[0]?.sha256 ?? '').slice(0, 8)}`;

/** Files of models whose adding has not ended. They are listed, can be deleted, and expire after a week. */
export class UnfinishedModels {
  readonly #index: UsageIndex;
  readonly #remove: (name: string) => Promise<void>;
  readonly #adding = new Set<string>();

  /** @param remove deletes a variant, and files that no other variant uses */
  constructor(index: UsageIndex, remove: (name: string) => Promise<void>) {
    this.#index = index;
    this.#remove = remove;
  }

  /** Predicts the files of a model with this name, from an interrupted attempt if its total size is equal. */
  async expected(slug: string, bytes: number): Promise<WeightFile[]> {
    const entries = [...(await this.#index.entries())];
    const known = entries.find(([name]) => name.startsWith(`${PREFIX}${slug}-`))?.[1].files ?? [];
    const rest = bytes - weightBytes({ files: known });
    return rest === 0 ? known : [{ path: slug, bytes, sha256: 'to be added' }];
  }

  async keep(slug: string, files: WeightFile[]): Promise<void> {
    this.#adding.add(nameOf(slug, files));
    // No model ids, so that the entry does not count as an outdated version of a model.
    await this.#index.set(nameOf(slug, files), { models: [], used: Date.now(), files });
  }

  /** Whether the model is being added: its files must stay. */
  isAdding(name: string): boolean {
    return this.#adding.has(name);
  }

  /** Notes that adding has ended. What was stored stays. */
  end(slug: string, files: readonly WeightFile[]): void {
    this.#adding.delete(nameOf(slug, files));
  }

  /** Removes the entry of a completed model, which now owns the files. */
  async forget(slug: string, files: readonly WeightFile[]): Promise<void> {
    this.end(slug, files);
    await this.#index.delete(nameOf(slug, files));
  }

  async drop(slug: string, files: readonly WeightFile[]): Promise<void> {
    const name = nameOf(slug, files);
    if ((await this.#index.entries()).has(name)) await this.#remove(name);
  }

  async dropExpired(): Promise<void> {
    const oldest = Date.now() - KEPT_MS;
    for (const [name, { used }] of await this.#index.entries())
      if (isUnfinished(name) && used < oldest) await this.#remove(name);
  }
}
