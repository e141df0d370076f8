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
export function createEstimates({ files, rate, engines }: EstimatesOptions) {
  /** Estimates by the variant's name. Variants without weights have none. */
  const known = new Map<string, VariantEstimate>();

  async function estimate(variant: Variant): Promise<void> {
    if (!hasWeights(variant)) return;
    const downloadBytes = await files.missingBytes(variant).catch(() => weightBytes(variant));
    const { bytesPerSecond } = rate;
    known.set(variant.name, {
      ...estimateMemory(variant, engines),
      downloadBytes,
      ...(bytesPerSecond !== null && { downloadSeconds: Math.ceil(downloadBytes / bytesPerSecond) }),
    });
  }

  return {
    known,
    /** Updates the estimates from what is stored. Never rejects, as estimates are only displayed. */
    async refresh({ models }: Pick<Catalog, 'models'>): Promise<void> {
      await Promise.all(models.flatMap((model) => model.variants).map(estimate));
    },
  };
}

/** Memory of a modest device, for browsers that report none. */
const UNKNOWN_GIB = 4;
/** How long a load waits for requests to end before it exceeds the budget, which is an estimate. */
const ROOM_TIMEOUT_MS = 10_000;
const POLL_INTERVAL_MS = 50;

export const defaultBudget = (memoryGiB: number | null): number => usableBytes(memoryGiB ?? UNKNOWN_GIB);

/**
 * Limits which models are in memory at once. Unloads the least recently used model first, never during a request.
 * @param bytes the limit
 */
export function memoryBudget(
  bytes: Promise<number>,
  loadedModels: ReadonlyMap<string, LoadedModel>,
  engines: Engines,
) {
  const mutex = new Mutex();
  /** Variants whose load was admitted. Those still loading count towards the budget. */
  const admitted = new WeakSet<Variant>();
  const memoryCost = (variant: Variant): number => estimateMemory(variant, engines).memoryBytes;

  /** Unloads idle models until a variant fits. @returns whether its load was admitted; otherwise the others are in use */
  async function makeRoom(variant: Variant, signal: AbortSignal, deadline: number): Promise<boolean> {
    const budget = await bytes;
    const needed = memoryCost(variant);
    for (;;) {
      signal.throwIfAborted();
      const others = [...loadedModels.values()].filter((each) => each.variant !== variant);
      const inMemory = others.filter((each) => each.engine && memoryCost(each.variant) > 0);
      const loading = others.filter((each) => each.state === 'loading' && admitted.has(each.variant));
      const reserved = [...inMemory, ...loading];
      const sum = reserved.reduce((total, each) => total + memoryCost(each.variant), 0);
      const [oldest] = inMemory.filter(isIdle).toSorted((a, b) => a.lastUsed - b.lastUsed);
      const fits = reserved.length === 0 || sum + needed <= budget;
      if (fits || (!oldest && performance.now() > deadline)) {
        admitted.add(variant);
        return true;
      }
      if (!oldest?.engine) return false;
      await oldest.drop(oldest.engine, variant);
    }
  }

  return {
    /** Runs a load once there is room for it. A load that fits does not wait for one that does not. */
    async admit<T>(variant: Variant, signal: AbortSignal, load: () => Promise<T>): Promise<T> {
      // A previous load may have been admitted.
      admitted.delete(variant);
      const deadline = performance.now() + ROOM_TIMEOUT_MS;
      while (!(await mutex.run(() => makeRoom(variant, signal, deadline))))
        await delay(POLL_INTERVAL_MS, signal);
      return load();
    },
    /** Unloads all models without requests, for another one. @returns whether any model was unloaded */
    async unloadIdle(other: Variant): Promise<boolean> {
      const idle = [...loadedModels.values()].filter(isIdle);
      await Promise.all(idle.map((each) => each.engine && each.drop(each.engine, other)));
      return idle.length > 0;
    },
  };
}

const isIdle = ({ engine, queue }: LoadedModel): boolean =>
  engine !== null && queue.running === 0 && queue.queued === 0;
