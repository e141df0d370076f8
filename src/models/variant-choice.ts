import { formatBytes, needsOf, preferenceOf, unmetNeed, type CatalogModel, type Variant } from '#catalog';
import type { VariantReason } from '#protocol';
import type { Device, Engines } from '#engine-kit';
import { loadId } from './crash-guard.ts';
import type { VariantFiles } from '#weights';

/** Maximum download on a device with reduced data usage. */
const SAVE_DATA_BYTES = 256 * 1e6;

export interface Plan {
  /** Variants that this device can run and whose weights can be fetched, best first. */
  candidates: Variant[];
  /** Why the first candidate was chosen, and why each variant before it was skipped. */
  reasons: VariantReason[];
}

/** Orders a model's variants for loading. @param faults reasons of variants that failed permanently, by name */
export type PlanVariants = (model: CatalogModel, faults: ReadonlyMap<string, string>) => Promise<Plan>;

export interface PlannerOptions {
  device: Promise<Device>;
  variantFiles: Pick<VariantFiles, 'fault' | 'missingBytes' | 'room'>;
  /** Whether stored models may be deleted for others. Only the load then checks whether there is room. */
  evict?: boolean;
  engines: Engines;
  /** Names of variants that the page prefers, in order of preference. */
  prefer?: readonly string[] | undefined;
  /**
   * Resolves to the `loadId` of variants that ended a tab. They are skipped if another can
   * run; otherwise their load fails.
   */
  fatal?: () => Promise<readonly string[]>;
}

/** Orders a model's variants by what the device can do and where its weights are available. */
export function variantPlanner(options: PlannerOptions): PlanVariants {
  const { device, variantFiles, engines, evict = false, prefer = [], fatal = async () => [] } = options;
  /** Queries the hub or a manifest last, and only for variants that the device can run. */
  const faultOf = async (variant: Variant): Promise<string | undefined> =>
    unmetNeed(variant, await device, engines) ??
    (await downloadFault(variant)) ??
    (await variantFiles.fault(variant));
  /** Checks the storage each time, as a model may have been deleted. */
  const downloadFault = async (variant: Variant): Promise<string | undefined> => {
    const bytes = await variantFiles.missingBytes(variant);
    if (bytes === 0) return undefined;
    const { needed, free } = evict ? { needed: 0, free: null } : await variantFiles.room(variant);
    if (free !== null && needed > free)
      return `needs ${formatBytes(needed)} of storage, and ${formatBytes(free)} are free`;
    if ((await device).saveData && bytes > SAVE_DATA_BYTES)
      return `is a download of ${formatBytes(bytes)}, and this device is asked to save data`;
    return undefined;
  };
  const reservation = ({ optIn, name }: Variant): string | undefined =>
    optIn && !prefer.includes(name) ? 'is used only when a page prefers it' : undefined;
  return async ({ variants }, faults) => {
    const runnable: Variant[] = [];
    const skipped: VariantReason[] = [];
    for (const variant of variants.toSorted((a, b) => preferenceOf(a, prefer) - preferenceOf(b, prefer))) {
      const { name, engine } = variant;
      const reason = reservation(variant) ?? faults.get(name) ?? (await faultOf(variant));
      if (reason === undefined) runnable.push(variant);
      else if (runnable.length === 0) skipped.push({ variant: name, engine, chosen: false, reason });
    }
    const ended = await fatal();
    const sound = runnable.filter((variant) => !ended.includes(loadId(variant, engines)));
    // Catalogs list the smallest variant last. If all have ended a tab, only the smallest is a candidate: its load is
    // refused at first, and retried some minutes later.
    const candidates = sound.length > 0 ? sound : runnable.slice(-1);
    const [first] = candidates;
    if (!first) return { candidates, reasons: skipped };
    for (const { name: variant, engine } of runnable.slice(0, runnable.indexOf(first)))
      skipped.push({ variant, engine, chosen: false, ...ENDED_TAB });
    const { name, engine } = first;
    const reason = prefer.includes(name)
      ? 'preferred, and this device can run it'
      : describe(needsOf(first, engines), await device);
    const why = sound.length > 0 ? { reason } : ENDED_TAB;
    return { candidates, reasons: [{ variant: name, engine, chosen: true, ...why }, ...skipped] };
  };
}

const ENDED_TAB = {
  reason:
    'ended its tab the last time it was loaded: it may be too large for this device. ready(id, { retry: true }) tries it again',
  endedTab: true,
} as const;

function describe({ webgpu }: { webgpu: boolean }, { gpu }: Device): string {
  if (gpu && webgpu) return `the first that this device can run, on its GPU (${gpu.name})`;
  return 'the first that this device can run';
}
