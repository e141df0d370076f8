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
import { requestError } from '#base';
import { storageFull } from './download/download-errors.ts';
import { isUnfinished, UnfinishedModels, UsageIndex } from './usage-index.ts';
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
  /** Hashes of files that other apps of the origin need, and that cannot be downloaded again. */
  addedElsewhere(): Promise<ReadonlySet<string>>;
  /** Unloads the variant. Resolves to false while it has requests or is being loaded. */
  release(variant: string): Promise<boolean>;
}

/** Manages stored weights by model: which are stored, which may be deleted, and when they were last used. */
export class ModelStorage {
  /** Added models whose files are incomplete. */
  readonly unfinished: UnfinishedModels;
  readonly #options: ModelStorageOptions;
  readonly #index: UsageIndex;
  readonly #variants = new Map<string, { variant: Variant; models: string[] }>();

  constructor(options: ModelStorageOptions) {
    this.#options = options;
    this.#index = new UsageIndex(options.store);
    this.unfinished = new UnfinishedModels(this.#index, (name) => this.delete(name));
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

  async overview(): Promise<WeightsOverview> {
    const { kind } = (await this.#options.store()).backend;
    const { usedBytes = null, quotaBytes = null } = (await estimateStorage()) ?? {};
    const persisted = await orNull(() => navigator.storage.persisted());
    return { kind, usedBytes, quotaBytes, persisted, variants: await this.variants() };
  }

  async variants(): Promise<StoredVariant[]> {
    const names = new Set([...this.#variants.keys(), ...(await this.#index.entries()).keys()]);
    const all = await Promise.all([...names].map((name) => this.#describe(name)));
    const whole = all.filter(({ state }) => state === 'whole').map(({ variant }) => variant);
    const shared = await this.#hashesOf(whole);
    return Promise.all(
      all.map(async (each) => {
        if (each.state !== 'part' || each.inUse) return each;
        const { stored } = await this.#beyond(each.variant, shared);
        return stored > 0 ? each : { ...each, storedBytes: 0, state: 'absent' as const };
      }),
    );
  }

  /** @throws ServiceError 400 while the variant is in use */
  async delete(name: string): Promise<void> {
    if (this.unfinished.isAdding(name) || !(await this.#options.release(name))) {
      throw requestError(
        400,
        `${name} is being loaded, or answers requests. Stop its requests, or cancel its download, and try again.`,
        'weights_in_use',
        'target',
      );
    }
    const files = await this.files(name);
    const own = new Set(files.map(({ sha256 }) => sha256));
    const others: string[] = [];
    for (const other of await this.#owners())
      if (other !== name && (await this.#keepsFiles(other, own))) others.push(other);
    await this.#deleteUnless(await this.#hashesOf(others), files);
    const known = this.#variants.get(name);
    if (known) await this.#options.variantFiles.forget(known.variant);
    await this.#index.delete(name);
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

  /** Makes room for a download of these files: deletes unfinished models, and others if the site allows it. */
  async makeRoom(files: readonly WeightFile[]): Promise<void> {
    const { needed, free } = await (await this.#options.store()).room(files);
    if (free === null || free >= needed) return;
    const oldest = await this.#deletable(files);
    const usable = oldest.filter(({ variant }) =>
      this.#options.evict ? !isAddedVariant(variant) : isUnfinished(variant),
    );
    const deletable = usable.reduce((sum, { storedBytes }) => sum + storedBytes, 0);
    if (free + deletable < needed) throw storageFull(needed, free, described(oldest));
    let missing = needed - free;
    for (const { variant, storedBytes } of usable) {
      if (missing <= 0) return;
      await this.delete(variant);
      missing -= storedBytes;
    }
  }

  /**
   * Deletes the least recently used model, if the site allows it. Called after a write that found the storage full,
   * whatever the browser had reported (Chromium reports 10 GiB to every site).
   * @throws ServiceError `storage_full` saying what could be deleted
   */
  async makeMoreRoom(files: readonly WeightFile[]): Promise<void> {
    const oldest = await this.#deletable(files);
    for (const { variant, storedBytes } of this.#options.evict ? oldest : []) {
      if (isAddedVariant(variant)) continue;
      await this.delete(variant);
      // Files that another model shares stay.
      if ((await this.#describe(variant)).storedBytes < storedBytes) return;
    }
    const stored = await (await this.#options.store()).storedBytes(files);
    throw storageFull(weightBytes({ files }) - stored, null, described(oldest));
  }

  /** Records the use of a loaded variant, and deletes versions that it replaces. */
  async used({ name, files }: Variant): Promise<void> {
    const models = this.#variants.get(name)?.models ?? [];
    const before = (await this.#index.entries()).get(name);
    await this.#index.set(name, { models, used: Date.now(), files });
    await this.#deleteOutdated(name, models, before?.files ?? []);
  }

  /**
   * Lists variants that are not in use and share none of these files, the least recently used first. Only the user
   * deletes an added one, whose files have no other source.
   */
  async #deletable(files: readonly WeightFile[]): Promise<StoredVariant[]> {
    const needed = new Set([...files.map(({ sha256 }) => sha256), ...(await this.#options.addedElsewhere())]);
    const others: StoredVariant[] = [];
    for (const each of await this.variants()) {
      if (each.storedBytes === 0 || each.inUse) continue;
      const itsFiles = await this.files(each.variant);
      if (!itsFiles.some(({ sha256 }) => needed.has(sha256))) others.push(each);
    }
    return others.toSorted((a, b) => (a.lastUsed ?? 0) - (b.lastUsed ?? 0));
  }

  async #deleteOutdated(name: string, models: string[], earlier: WeightFile[]): Promise<void> {
    const current = await this.#hashesOf([...(await this.#owners()), name]);
    const old = [...(await this.#index.entries())].filter(
      ([other, entry]) =>
        other !== name &&
        !this.#variants.has(other) &&
        // The site's catalog may have taken the id of an added model, whose files have no other source.
        !isAddedVariant(other) &&
        !this.#options.inUse(other) &&
        entry.models.some((id) => models.includes(id)),
    );
    await this.#deleteUnless(current, [...earlier, ...old.flatMap(([, { files }]) => files)]);
    for (const [other] of old) await this.#index.delete(other);
  }

  async #deleteUnless(needed: ReadonlySet<string>, files: readonly WeightFile[]): Promise<void> {
    const unneeded = files.filter(({ sha256 }) => !needed.has(sha256));
    if (unneeded.length === 0) return;
    const store = await this.#options.store();
    const elsewhere = await this.#options.addedElsewhere();
    for (const file of unneeded) if (!elsewhere.has(file.sha256)) await store.delete(file);
  }

  /** Names of the catalog's variants, and of added models that it does not list. */
  async #owners(): Promise<string[]> {
    const entries = await this.#index.entries();
    return [
      ...this.#variants.keys(),
      ...[...entries.keys()].filter((name) => isUnfinished(name) || isAddedVariant(name)),
    ];
  }

  async #hashesOf(variants: readonly string[]): Promise<Set<string>> {
    const files = await Promise.all(variants.map((name) => this.files(name)));
    return new Set(files.flat().map(({ sha256 }) => sha256));
  }

  /** Whether a variant needs its files when these are deleted. One of the catalog that was never downloaded needs none. */
  async #keepsFiles(name: string, deleted: ReadonlySet<string>): Promise<boolean> {
    if (isUnfinished(name) || isAddedVariant(name) || this.#options.inUse(name)) return true;
    const { files, stored } = await this.#beyond(name, deleted);
    return files === 0 || stored > 0;
  }

  /** The variant's files outside of these, and their stored bytes. */
  async #beyond(name: string, shared: ReadonlySet<string>): Promise<{ files: number; stored: number }> {
    const files = (await this.files(name)).filter(({ sha256 }) => !shared.has(sha256));
    return { files: files.length, stored: await (await this.#options.store()).storedBytes(files) };
  }

  async #describe(name: string): Promise<StoredVariant> {
    const store = await this.#options.store();
    const known = this.#variants.get(name);
    const entry = (await this.#index.entries()).get(name);
    const files = await this.files(name);
    const storedBytes = await store.storedBytes(files);
    const bytes = weightBytes({ files });
    const { engine, license, hub } = known?.variant ?? { engine: '', license: '' };
    const isListed = known !== undefined || isUnfinished(name);
    return {
      variant: name,
      models: known?.models ?? entry?.models ?? [],
      engine,
      license,
      bytes: bytes || (hub?.approximateBytes ?? 0),
      storedBytes,
      state: isListed ? storedState(storedBytes, bytes) : 'outdated',
      paused: store.paused(files),
      inUse: this.#options.inUse(name) || this.unfinished.isAdding(name),
      lastUsed: entry?.used ?? null,
    };
  }
}

function storedState(stored: number, bytes: number): StoredVariant['state'] {
  if (stored === 0) return 'absent';
  return stored < bytes ? 'part' : 'whole';
}

const described = (variants: readonly StoredVariant[]): string[] =>
  variants.map(({ variant, storedBytes }) => `${variant} (${storedBytes} bytes)`);

/** Resolves to null if the browser lacks the API or denies it. */
async function orNull<T>(ask: () => Promise<T>): Promise<T | null> {
  try {
    return await ask();
  } catch {
    return null;
  }
}
