import { hasWeights, weightBytes, usableBytes, estimateMemory, type Catalog, type Variant } from '#catalog';
import type { VariantEstimate } from '#protocol';
import type { DownloadRate, VariantFiles } from '#weights';
import { delay, Mutex } from '#base';
import type { Engines } from '#engine-kit';
import type { LoadedModel } from './loaded-model.ts';

interface EstimatesOptions {
  files: Pick<VariantFiles, 'missingBytes'>;
  rate: Pick<DownloadRate, 'bytesPerSecond'>;
  engines: Engines;
}

/** Estimates of each variant's memory and remaining download time. */
export class Estimates {
  readonly #options: EstimatesOptions;
  /** Estimates by the variant's name. Variants without weights have none. */
  readonly known = new Map<string, VariantEstimate>();

  constructor(options: EstimatesOptions) {
    this.#options = options;
  }

  /** Updates the estimates from what is stored. Never rejects, as estimates are only displayed. */
  async refresh({ models }: Pick<Catalog, 'models'>): Promise<void> {
    const variants = models.flatMap((model) => model.variants);
    await Promise.all(variants.map((variant) => this.#refresh(variant)));
  }

  async #refresh(variant: Variant): Promise<void> {
    if (!hasWeights(variant)) return;
    const { files, rate, engines } = this.#options;
    const downloadBytes = await files.missingBytes(variant).catch(() => weightBytes(variant));
    const { bytesPerSecond } = rate;
    this.known.set(variant.name, {
      ...estimateMemory(variant, engines),
      downloadBytes,
      ...(bytesPerSecond !== null && { downloadSeconds: Math.ceil(downloadBytes / bytesPerSecond) }),
    });
  }
}

/** Memory of a modest device, for browsers that report none. */
const UNKNOWN_GIB = 4;
/** How long a load waits for requests to end before it exceeds the budget, which is an estimate. */
const ROOM_TIMEOUT_MS = 10_000;
const POLL_INTERVAL_MS = 50;

export const defaultBudget = (memoryGiB: number | null): number => usableBytes(memoryGiB ?? UNKNOWN_GIB);

/** Limits which models are in memory at once. Unloads the least recently used model first, never during a request. */
export class MemoryBudget {
  readonly #bytes: Promise<number>;
  readonly #loadedModels: ReadonlyMap<string, LoadedModel>;
  readonly #engines: Engines;
  readonly #mutex = new Mutex();
  /** Variants whose load was admitted. Those still loading count towards the budget. */
  readonly #admitted = new WeakSet<Variant>();

  constructor(bytes: Promise<number>, loadedModels: ReadonlyMap<string, LoadedModel>, engines: Engines) {
    this.#engines = engines;
    this.#bytes = bytes;
    this.#loadedModels = loadedModels;
  }

  /** Runs a load once there is room for it. Loads get room one after another. */
  async admit<T>(variant: Variant, signal: AbortSignal, load: () => Promise<T>): Promise<T> {
    // A previous load may have been admitted.
    this.#admitted.delete(variant);
    await this.#mutex.run(() => this.#makeRoom(variant, signal));
    this.#admitted.add(variant);
    return load();
  }

  /** Unloads all models without requests, for another one. @returns whether any model was unloaded */
  async unloadIdle(other: Variant): Promise<boolean> {
    const idle = [...this.#loadedModels.values()].filter(isIdle);
    await Promise.all(
      idle.map((loadedModel) => loadedModel.engine && loadedModel.drop(loadedModel.engine, other)),
    );
    return idle.length > 0;
  }

  async #makeRoom(variant: Variant, signal: AbortSignal): Promise<void> {
    const budget = await this.#bytes;
    const deadline = performance.now() + ROOM_TIMEOUT_MS;
    const memoryCost = (each: Variant): number => estimateMemory(each, this.#engines).memoryBytes;
    const needed = memoryCost(variant);
    for (;;) {
      signal.throwIfAborted();
      const others = [...this.#loadedModels.values()].filter((each) => each.variant !== variant);
      const inMemory = others.filter((each) => each.engine && memoryCost(each.variant) > 0);
      const loading = others.filter((each) => each.state === 'loading' && this.#admitted.has(each.variant));
      const reserved = [...inMemory, ...loading];
      const sum = reserved.reduce((total, each) => total + memoryCost(each.variant), 0);
      if (reserved.length === 0 || sum + needed <= budget) return;
      const [oldest] = inMemory.filter(isIdle).toSorted((a, b) => a.lastUsed - b.lastUsed);
      if (oldest?.engine) await oldest.drop(oldest.engine, variant);
      else if (performance.now() > deadline) return;
      else await delay(POLL_INTERVAL_MS, signal);
    }
  }
}

const isIdle = ({ engine, queue }: LoadedModel): boolean =>
  engine !== null && queue.running === 0 && queue.queued === 0;
