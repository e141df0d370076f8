import {
  isAddedVariant,
  hasWeights,
  weightBytes,
  type AddedModelRecord,
  type Catalog,
  type Variant,
  type WeightFile,
} from '#catalog';
import type { StoredVariant, WeightsOverview } from '#protocol';
import { Mutex, requestError } from '#base';
import { isStorageFull, storageFull, unlessFull } from './download/download-errors.ts';
import { NO_ENTRY, unfinishedModels, usageIndex, type UsageEntry } from './usage-index.ts';
import type { VariantFiles } from './sources/variant-files.ts';
import type { WeightStore } from './weight-store.ts';
import { estimateStorage } from './storage-estimate.ts';

export interface ModelStorageOptions {
  catalog: Catalog;
  store: () => Promise<WeightStore>;
  variantFiles: Pick<VariantFiles, 'files' | 'forget'>;
  /** Whether the least recently used models may be deleted when the storage is full. */
  evict: boolean;
  /** Whether the variant is in memory or being loaded. */
  inUse(variant: string): boolean;
  /** Whether the variant has requests or is being loaded. */
  isBusy(variant: string): boolean;
  /** Unloads the variant. Resolves to false while it is busy. */
  release(variant: string): Promise<boolean>;
}

/** Manages stored weights by model: which are stored, which may be deleted, and when they were last used. */
export class ModelStorage {
  readonly unfinished;
  readonly #options: ModelStorageOptions;
  readonly #index;
  /** Variants that go at once would each leave a shared file to the other. Files are not named meanwhile. */
  readonly #deleting = new Mutex();
  readonly #variants = new Map<string, { variant: Variant; models: string[] }>();

  constructor(options: ModelStorageOptions) {
    this.#options = options;
    this.#index = usageIndex(options.store);
    this.unfinished = unfinishedModels(this.#index, this, this.#deleting);
    this.setCatalog(options.catalog);
  }

  /**
   * Replaces the catalog after models were added or removed.
   * @param added whose files stay, and can be deleted, also where the site's catalog has taken the id
   */
  setCatalog({ models }: Catalog, added: readonly AddedModelRecord[] = []): void {
    this.#variants.clear();
    for (const { id, variants } of models) {
      for (const variant of variants) {
        const known = this.#variants.get(variant.name);
        if (known) known.models.push(id);
        else if (hasWeights(variant)) this.#variants.set(variant.name, { variant, models: [id] });
      }
    }
    for (const { model, variant } of added)
      if (!this.#variants.has(variant.name))
        this.#variants.set(variant.name, { variant, models: [model.id] });
  }

  /** Whether the catalog, or the user's list, has the variant. */
  isListed(name: string): boolean {
    return this.#variants.has(name);
  }

  async overview(): Promise<WeightsOverview> {
    const { kind } = (await this.#options.store()).backend;
    const { usedBytes = null, quotaBytes = null } = (await estimateStorage()) ?? {};
    const persisted = (await globalThis.navigator?.storage?.persisted?.().catch(() => null)) ?? null;
    return { kind, usedBytes, quotaBytes, persisted, variants: await this.variants() };
  }

  async variants(): Promise<StoredVariant[]> {
    const names = new Set([...this.#variants.keys(), ...(await this.#index.entries()).keys()]);
    return Promise.all([...names].map((name) => this.#describe(name)));
  }

  /**
   * Deletes a variant's files, unless others need them.
   * @param unlist takes an added model out of the user's list, before its files go
   * @throws ServiceError 400 while the variant is in use
   */
  async delete(name: string, unlist?: () => Promise<void>): Promise<void> {
    if (this.unfinished.isAdding(name) || !(await this.#options.release(name))) {
      const message = `${name} is being loaded, or answers requests. Stop its requests, or cancel its download, and try again.`;
      throw requestError(400, message, 'weights_in_use', 'target');
    }
    const known = this.#variants.get(name);
    const files = await this.files(name);
    const all = async () => [...files, ...((await this.#index.entries()).get(name)?.files ?? [])];
    const removal = async () => this.#index.update(name, { files: await all(), used: 0, unfinished: true });
    // The next start finishes a removal that is interrupted. A full storage does not prevent it.
    if (unlist) await removal().catch(() => undefined);
    // Nor does one that the list does not fit into: then the files go first.
    let isUnlisted = false;
    const leave = async (): Promise<void> => {
      await unlist?.();
      isUnlisted = true;
    };
    await unlessFull(leave());
    let isWanted = false;
    const isGone = (other: string): boolean =>
      other === name && !(isWanted ||= this.unfinished.isAdding(name) || this.#options.inUse(name));
    await this.#deleting.run(async () => {
      await this.#release(await all(), isGone);
      // Once it was added or loaded again, even if that has failed, some files are left.
      if (known && isGone(name)) await this.#options.variantFiles.forget(known.variant);
      if (isGone(name)) await this.#index.delete(name);
    });
    if (!isUnlisted) await leave();
  }

  /** Lists the variant's files, as far as they are known without the network. */
  async files(name: string): Promise<WeightFile[]> {
    const known = this.#variants.get(name);
    const listed = known ? await this.#options.variantFiles.files(known.variant) : null;
    return listed ?? (await this.#index.entries()).get(name)?.files ?? [];
  }

  /**
   * Resolves a variant's name or a model's id to the name of a variant.
   * @param chosen the variant chosen for the model
   * @throws ServiceError 400 if there is no such model or variant
   */
  async name(target: string, chosen: string | undefined): Promise<string> {
    if (this.#variants.has(target)) return target;
    if (chosen !== undefined) return chosen;
    if ((await this.#index.entries()).has(target)) return target;
    throw requestError(400, `There is no model or variant ${target} here.`, 'model_not_found', 'target');
  }

  /** Lists the catalog's variants with their known files. */
  async known(): Promise<{ variant: Variant; files: WeightFile[] }[]> {
    const variants = [...this.#variants.values()].map(({ variant }) => variant);
    return Promise.all(variants.map(async (variant) => ({ variant, files: await this.files(variant.name) })));
  }

  /**
   * Makes room for these files: deletes unfinished models and, if the site allows it, the least recently used others.
   * @param isFull whether a write found the storage full, whatever the browser had reported (Chromium reports 10 GiB to
   *   every site): deletes one more model
   * @throws ServiceError `storage_full` saying what could be deleted
   */
  async makeRoom(files: readonly WeightFile[], isFull = false): Promise<void> {
    const store = await this.#options.store();
    const room = await store.room(files);
    const free = isFull ? null : room.free;
    const needed = isFull ? weightBytes({ files }) - (await store.storedBytes(files)) : room.needed;
    let missing = isFull ? 1 : needed - (free ?? needed);
    if (missing <= 0) return;
    const deletable = await this.#deletable(files);
    const evictable: StoredVariant[] = [];
    for (const each of deletable) if (await this.#mayEvict(each.variant)) evictable.push(each);
    const full = () => storageFull(needed, free, described(deletable));
    if (evictable.reduce((sum, { storedBytes }) => sum + storedBytes, 0) < missing) throw full();
    for (const { variant, storedBytes } of evictable) {
      const itsFiles = await this.files(variant);
      // Files that another model shares stay, and those of a model that is loaded again by now.
      await this.delete(variant).catch(() => undefined);
      missing -= storedBytes - (await store.storedBytes(itsFiles));
      if (missing <= 0) return;
    }
    throw full();
  }

  /** Only the user deletes an added model, or files that the user brought: they may have no other source. */
  async #mayEvict(name: string): Promise<boolean> {
    if (isAddedVariant(name)) return this.unfinished.has(name, (await this.#index.entries()).get(name));
    if (!this.#options.evict) return false;
    const { notes } = await this.#options.store();
    const claims = (await this.files(name)).map((file) => notes.isClaimed(file));
    return !(await Promise.all(claims)).includes(true);
  }

  /** Runs work that stores these files: first makes room, and more whenever the work finds the storage full. */
  async withRoom<T>(files: readonly WeightFile[], signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.makeRoom(files);
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (signal.aborted || !isStorageFull(error)) throw error;
        await this.makeRoom(files, true);
      }
    }
  }

  /** Names a variant's files in the index, before any is stored. */
  note(name: string, files: readonly WeightFile[]): Promise<void> {
    return this.#deleting.run(() => this.#note(name, files));
  }

  async #note(name: string, files: readonly WeightFile[]): Promise<void> {
    const known = (await this.#index.entries()).get(name)?.files ?? [];
    const more = files.filter(({ sha256 }) => !known.some((file) => file.sha256 === sha256));
    const isStored = (await (await this.#options.store()).missing(files)).length === 0;
    // Before a download it is written in any case: an earlier write may have failed.
    if (more.length === 0 && isStored) return;
    const models = this.#variants.get(name)?.models ?? [];
    const writing = this.#index.update(name, { models, files: [...known, ...more] });
    await (isStored ? unlessFull(writing) : writing);
  }

  /** Records the use of a loaded variant, and deletes versions that it replaces. */
  used(variant: Variant): Promise<void> {
    return this.#deleting.run(() => this.#replaceOlder(variant));
  }

  async #replaceOlder({ name, files }: Variant): Promise<void> {
    const known = this.#variants.get(name);
    if (!known) return;
    const isReplaced = ([other, { models }]: [string, UsageEntry]): boolean =>
      !this.#variants.has(other) &&
      // The site's catalog may have taken the id of an added model, whose files have no other source.
      !isAddedVariant(other) &&
      !this.#options.inUse(other) &&
      models.some((id) => known.models.includes(id));
    const entries = [...(await this.#index.entries())];
    const replaced = new Map(entries.filter((entry) => entry[0] === name || isReplaced(entry)));
    const earlier = [...replaced.values()].flatMap((entry) => entry.files);
    await this.#release(earlier, (other) => replaced.has(other), files);
    for (const other of replaced.keys()) if (other !== name) await this.#index.delete(other);
    await this.#index.update(name, { models: known.models, used: Date.now(), files });
  }

  /** Lists variants that are not busy and share none of these files: the least recently used first, loaded ones last. */
  async #deletable(files: readonly WeightFile[]): Promise<StoredVariant[]> {
    const needed = hashesOf(files);
    const others: StoredVariant[] = [];
    for (const each of await this.variants()) {
      const isBusy = this.#options.isBusy(each.variant) || this.unfinished.isAdding(each.variant);
      if (each.storedBytes === 0 || isBusy) continue;
      const itsFiles = await this.files(each.variant);
      if (!itsFiles.some(({ sha256 }) => needed.has(sha256))) others.push(each);
    }
    return others.toSorted(
      (a, b) => Number(a.inUse) - Number(b.inUse) || (a.lastUsed ?? 0) - (b.lastUsed ?? 0),
    );
  }

  /**
   * The only place where complete files are deleted: those that no entry of another variant names. Asked again under each file's
   * lock, as a model with the file may be added or loaded meanwhile.
   */
  async #release(
    files: readonly WeightFile[],
    isGone: (name: string) => boolean,
    kept: readonly WeightFile[] = [],
  ): Promise<void> {
    const needed = hashesOf(kept);
    const entries = await this.#index.entries();
    const isNeeded = ({ sha256 }: WeightFile): boolean =>
      needed.has(sha256) ||
      [...entries].some(
        ([name, entry]) =>
          !isGone(name) &&
          (isAddedVariant(name) || this.#variants.has(name)) &&
          hashesOf(entry.files).has(sha256),
      );
    const store = await this.#options.store();
    for (const file of files) if (!isNeeded(file)) await store.delete(file, isNeeded);
  }

  async #describe(name: string): Promise<StoredVariant> {
    const store = await this.#options.store();
    const known = this.#variants.get(name);
    const entry = (await this.#index.entries()).get(name);
    const files = await this.files(name);
    const bytes = weightBytes({ files });
    const stored = await store.storedBytes(files);
    // Files that it shares with another variant may be stored for that one.
    const storedBytes = entry || stored === bytes ? stored : 0;
    const isListed = known !== undefined || this.unfinished.has(name, entry);
    const { engine, license, hub } = known?.variant ?? UNKNOWN;
    const { models, used } = entry ?? NO_ENTRY;
    return {
      variant: name,
      models: known?.models ?? models,
      engine,
      license,
      bytes: bytes || (hub?.approximateBytes ?? 0),
      storedBytes,
      state: isListed ? storedState(storedBytes, bytes) : 'outdated',
      paused: store.paused(files),
      inUse: this.#options.inUse(name) || this.unfinished.isAdding(name),
      lastUsed: used || null,
    };
  }
}

const UNKNOWN = { engine: '', license: '', hub: undefined };

function storedState(stored: number, bytes: number): StoredVariant['state'] {
  if (stored === 0) return 'absent';
  return stored < bytes ? 'part' : 'whole';
}

const hashesOf = (files: readonly WeightFile[]): Set<string> => new Set(files.map(({ sha256 }) => sha256));

const described = (variants: readonly StoredVariant[]): string[] =>
  variants.map(({ variant, storedBytes }) => `${variant} (${storedBytes} bytes)`);
