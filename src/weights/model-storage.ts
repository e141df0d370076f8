import type { Catalog, Variant, WeightFile } from '../catalog/catalog.ts';
import type { StoredVariant, WeightsOverview } from '../protocol/weights-messages.ts';
import { badRequest } from '../protocol/engine-error.ts';
import { storageFull } from './download/download-errors.ts';
import { UsageIndex } from './usage-index.ts';
import type { WeightSources } from './sources/weight-sources.ts';
import type { WeightStore } from './weight-store.ts';

export interface ModelStorageOptions {
  catalog: Catalog;
  store: Promise<WeightStore>;
  sources: Pick<WeightSources, 'files' | 'forget'>;
  /** When the storage is full, what was not used for longest may be deleted. */
  evict: boolean;
  /** Name of the variant chosen for a model. */
  chosen(model: string): string | undefined;
  /** In memory, or on its way there. */
  inUse(variant: string): boolean;
  /** Takes it out of memory; false when that cannot be, as requests run or it is being loaded. */
  release(variant: string): Promise<boolean>;
  now?: () => number;
}

/** The stored weights as models: what is there, what may go, and for how long nobody has asked for it. */
export class ModelStorage {
  readonly #options: ModelStorageOptions;
  readonly #variants: Map<string, { variant: Variant; models: string[] }>;
  #index: Promise<UsageIndex> | null = null;

  constructor(options: ModelStorageOptions) {
    this.#options = options;
    this.#variants = new Map();
    for (const { id, variants } of options.catalog.models) {
      for (const variant of variants) {
        const known = this.#variants.get(variant.name);
        if (known) known.models.push(id);
        else if (variant.engine !== 'upstream') this.#variants.set(variant.name, { variant, models: [id] });
      }
    }
  }

  async overview(): Promise<WeightsOverview> {
    const { kind } = (await this.#options.store).backend;
    const { usage = null, quota = null } = await estimate();
    const persisted = await isPersisted();
    return { kind, usedBytes: usage, quotaBytes: quota, persisted, variants: await this.variants() };
  }

  async variants(): Promise<StoredVariant[]> {
    const entries = await (await this.#openIndex()).entries();
    const known = [...this.#variants].map(([name, { variant, models }]) =>
      this.#describe(name, { models, engine: variant.engine, license: variant.license }, variant),
    );
    const outdated = [...entries].filter(([name]) => !this.#variants.has(name));
    const old = outdated.map(([name, { models }]) =>
      this.#describe(name, { models, engine: '', license: '' }),
    );
    return Promise.all([...known, ...old]);
  }

  /** @throws EngineError 400 when there is no such model or variant, or while it is in use */
  async delete(target: string): Promise<void> {
    const name = await this.name(target);
    if (!(await this.#options.release(name))) {
      throw badRequest(
        `${name} is being loaded, or answers requests. Stop its requests, or cancel its download, and try again.`,
        'target',
        'weights_in_use',
      );
    }
    const store = await this.#options.store;
    const shared = await this.#sharedWith(name);
    for (const file of await this.files(name)) if (!shared.has(file.sha256)) await store.delete(file);
    const known = this.#variants.get(name);
    if (known) await this.#options.sources.forget(known.variant);
    await (await this.#openIndex()).delete(name);
  }

  /** Of the variant, as far as they are known without a network. */
  async files(name: string): Promise<WeightFile[]> {
    const known = this.#variants.get(name);
    const listed = known ? await this.#options.sources.files(known.variant) : null;
    return listed ?? (await (await this.#openIndex()).entries()).get(name)?.files ?? [];
  }

  /** @throws EngineError 400 */
  async name(target: string): Promise<string> {
    if (this.#variants.has(target)) return target;
    const chosen = this.#options.chosen(target);
    if (chosen !== undefined) return chosen;
    if ((await (await this.#openIndex()).entries()).has(target)) return target;
    throw badRequest(`There is no model or variant ${target} here.`, 'target', 'model_not_found');
  }

  /** Each of the catalog's variants with the files known of it. */
  async known(): Promise<{ variant: Variant; files: WeightFile[] }[]> {
    const variants = [...this.#variants.values()].map(({ variant }) => variant);
    return Promise.all(variants.map(async (variant) => ({ variant, files: await this.files(variant.name) })));
  }

  /** Before a download: makes sure of the room for these files, deleting others where the site allows it. */
  async makeRoom(files: readonly WeightFile[]): Promise<void> {
    const { needed, free } = await (await this.#options.store).room(files);
    if (free === null || free >= needed) return;
    const oldest = await this.#deletable(files);
    const deletable = oldest.reduce((sum, { storedBytes }) => sum + storedBytes, 0);
    if (!this.#options.evict || free + deletable < needed) throw storageFull(needed, free, described(oldest));
    let missing = needed - free;
    for (const { variant, storedBytes } of oldest) {
      if (missing <= 0) return;
      await this.delete(variant);
      missing -= storedBytes;
    }
  }

  /**
   * After a write that found the storage full, whatever the browser had said of it (Chromium tells every site of
   * 10 GiB): deletes what was not used for longest, where the site allows it.
   * @throws EngineError `storage_full` saying what could be deleted
   */
  async makeMoreRoom(files: readonly WeightFile[]): Promise<void> {
    const oldest = await this.#deletable(files);
    const [first] = oldest;
    if (this.#options.evict && first) return this.delete(first.variant);
    const store = await this.#options.store;
    const stored = await Promise.all(files.map((file) => store.storedBytes(file)));
    const needed = files.reduce((sum, { bytes }, at) => sum + bytes - (stored[at] ?? 0), 0);
    throw storageFull(needed, null, described(oldest));
  }

  /** What stands in no request's way and shares nothing with these files, what was not used for longest first. */
  async #deletable(files: readonly WeightFile[]): Promise<StoredVariant[]> {
    const wanted = new Set(files.map(({ sha256 }) => sha256));
    const stored = (await this.variants()).filter(({ storedBytes, inUse }) => storedBytes > 0 && !inUse);
    const others: StoredVariant[] = [];
    for (const each of stored) {
      const own = await this.files(each.variant);
      if (!own.some(({ sha256 }) => wanted.has(sha256))) others.push(each);
    }
    return others.toSorted((a, b) => (a.lastUsed ?? 0) - (b.lastUsed ?? 0));
  }

  /** After a load: remembers the use, and drops what these weights have taken the place of. */
  async used({ name, files }: Variant): Promise<void> {
    const index = await this.#openIndex();
    const models = this.#variants.get(name)?.models ?? [];
    const before = (await index.entries()).get(name);
    const plain = files.map(({ path, bytes, sha256 }) => ({ path, bytes, sha256 }));
    await index.set(name, { models, used: (this.#options.now ?? Date.now)(), files: plain });
    await this.#dropOutdated(name, models, before?.files ?? []);
  }

  async #dropOutdated(name: string, models: string[], earlier: WeightFile[]): Promise<void> {
    const store = await this.#options.store;
    const index = await this.#openIndex();
    const current = await this.#sharedWith(null);
    for (const { sha256 } of await this.files(name)) current.add(sha256);
    const old = [...(await index.entries())].filter(
      ([other, entry]) =>
        other !== name &&
        !this.#variants.has(other) &&
        !this.#options.inUse(other) &&
        entry.models.some((id) => models.includes(id)),
    );
    for (const file of [...earlier, ...old.flatMap(([, { files }]) => files)]) {
      if (!current.has(file.sha256)) await store.remove(file);
    }
    for (const [other] of old) await index.delete(other);
  }

  /** Hashes of files that the catalog's other variants are made of. */
  async #sharedWith(name: string | null): Promise<Set<string>> {
    const others = [...this.#variants.keys()].filter((other) => other !== name);
    const files = await Promise.all(others.map((other) => this.files(other)));
    return new Set(files.flat().map(({ sha256 }) => sha256));
  }

  async #describe(
    name: string,
    facts: Pick<StoredVariant, 'models' | 'engine' | 'license'>,
    variant?: Variant,
  ): Promise<StoredVariant> {
    const store = await this.#options.store;
    const files = await this.files(name);
    const stored = await Promise.all(files.map((file) => store.storedBytes(file)));
    const storedBytes = stored.reduce((sum, bytes) => sum + bytes, 0);
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    const state = storedBytes === 0 ? 'absent' : storedBytes < bytes ? 'part' : 'whole';
    return {
      variant: name,
      ...facts,
      bytes: bytes || (variant?.hub?.approximateBytes ?? 0),
      storedBytes,
      state: variant ? state : 'outdated',
      paused: store.paused(files),
      inUse: this.#options.inUse(name),
      lastUsed: (await (await this.#openIndex()).entries()).get(name)?.used ?? null,
    };
  }

  #openIndex(): Promise<UsageIndex> {
    return (this.#index ??= this.#options.store.then((store) => new UsageIndex(store)));
  }
}

const described = (variants: readonly StoredVariant[]): string[] =>
  variants.map(({ variant, storedBytes }) => `${variant} (${storedBytes} bytes)`);

async function estimate(): Promise<{ usage?: number; quota?: number }> {
  try {
    return await navigator.storage.estimate();
  } catch {
    return {};
  }
}

async function isPersisted(): Promise<boolean | null> {
  try {
    return await navigator.storage.persisted();
  } catch {
    return null;
  }
}
