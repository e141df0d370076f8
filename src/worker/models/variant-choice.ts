import { type CatalogModel, type Variant, weightBytes } from '../../catalog/catalog.ts';
import { estimateMemory, formatBytes, memoryShortage } from '../../catalog/memory-estimate.ts';
import type { VariantReason } from '../../protocol/worker-control.ts';
import type { Device } from '../device/device.ts';
import type { WeightSources } from '../../model-files/sources/weight-sources.ts';

/** What is known of a variant beyond the device: whether its weights can be fetched, and whether it has failed. */
export interface VariantState {
  /** Why it cannot be fetched or has failed, as a phrase that follows its name. */
  fault?: string;
  /** Of its weights, what has to be downloaded. Default: all. */
  missingBytes?: number;
}

export interface VariantChoice {
  variant: Variant | null;
  /** Why this variant was chosen, then why each one before it was skipped. */
  reasons: VariantReason[];
}

/** The first variant that the device can run and that has not failed, with the reasons. Pure. */
export function chooseVariant(
  model: CatalogModel,
  device: Device,
  prefer: readonly string[] = [],
  states: Readonly<Record<string, VariantState>> = {},
): VariantChoice {
  const reasons: VariantReason[] = [];
  for (const variant of inOrder(model, prefer)) {
    const state = states[variant.name] ?? {};
    const notAskedFor = variant.optIn && !prefer.includes(variant.name);
    const fault = notAskedFor
      ? 'is used only when a page prefers it'
      : (state.fault ?? unmetNeed(variant, device, state));
    const { name, engine } = variant;
    if (fault !== undefined) {
      reasons.push({ variant: name, engine, chosen: false, reason: fault });
      continue;
    }
    const reason = prefer.includes(name)
      ? 'preferred, and this device can run it'
      : describe(variant, device);
    return { variant, reasons: [{ variant: name, engine, chosen: true, reason }, ...reasons] };
  }
  return { variant: null, reasons };
}

/** Variants that the page prefers, then the others, each in their order. */
function inOrder({ variants }: CatalogModel, prefer: readonly string[]): Variant[] {
  const rank = ({ name }: Variant): number => {
    const place = prefer.indexOf(name);
    return place >= 0 ? place : prefer.length;
  };
  return variants.toSorted((a, b) => rank(a) - rank(b));
}

function unmetNeed(variant: Variant, device: Device, state: VariantState): string | undefined {
  const { features = [], cores = 1 } = variant.needs ?? {};
  const { gpu, storage, memoryGiB } = device;
  if (needsGpu(variant)) {
    if (!gpu) return 'needs WebGPU, which this browser does not offer here';
    if (gpu.fallback) return 'needs a GPU, and WebGPU runs in software here';
    const missing = features.find((feature) => !gpu.features.includes(feature));
    if (missing !== undefined) return `needs ${missing}, which this GPU lacks`;
  }
  if (cores > device.cores) return `needs ${cores} processor cores, and this device has ${device.cores}`;
  const shortage = memoryShortage(estimateMemory(variant).memoryBytes, memoryGiB);
  if (shortage !== undefined) return shortage;
  const bytes = state.missingBytes ?? weightBytes(variant);
  if (bytes === 0) return undefined;
  const free = storage === null ? null : storage.quotaBytes - storage.usedBytes;
  if (free !== null && bytes > free)
    return `needs ${formatBytes(bytes)} of storage, and ${formatBytes(free)} are free`;
  if (device.saveData && bytes > SAVE_DATA_BYTES)
    return `is a download of ${formatBytes(bytes)}, and this device is asked to save data`;
  return undefined;
}

const SAVE_DATA_BYTES = 256 * 1e6;

/** web-llm runs on WebGPU alone. A software GPU is slower than WASM: `webgpu: false` accepts one. */
const needsGpu = ({ engine, needs = {} }: Variant): boolean =>
  (needs.webgpu ?? engine === 'web-llm') || (needs.features ?? []).length > 0;

function describe(variant: Variant, { gpu }: Device): string {
  if (gpu && needsGpu(variant)) return `the first that this device can run, on its GPU (${gpu.name})`;
  return 'the first that this device can run';
}

export interface Plan {
  /** Variants that this device can run and whose weights can be fetched, best first. */
  candidates: Variant[];
  /** Why the first was chosen, and why each one before it was skipped. */
  reasons: VariantReason[];
}

/** Which of a model's variants to try, in which order; `faults` of those that have failed for good, by name. */
export type PlanVariants = (model: CatalogModel, faults: ReadonlyMap<string, string>) => Promise<Plan>;

/** Orders a model's variants by what the device can do and where its weights are available. */
export function variantPlanner(
  device: Promise<Device>,
  sources: Pick<WeightSources, 'fault' | 'missingBytes'>,
  prefer: readonly string[] = [],
): PlanVariants {
  return async (model, faults) => {
    const states: Record<string, VariantState> = {};
    for (const variant of model.variants) {
      const fault = faults.get(variant.name);
      states[variant.name] =
        fault === undefined ? { missingBytes: await sources.missingBytes(variant) } : { fault };
    }
    const asked = new Set<string>();
    const candidates: Variant[] = [];
    let reasons: VariantReason[] | null = null;
    for (;;) {
      const choice = chooseVariant(model, await device, prefer, states);
      const { variant } = choice;
      if (!variant) return { candidates, reasons: reasons ?? choice.reasons };
      // Asked only now: no request to a hub or for a manifest for what the device cannot run.
      if (!asked.has(variant.name)) {
        asked.add(variant.name);
        const fault = await sources.fault(variant);
        if (fault !== undefined) states[variant.name] = { fault };
        continue;
      }
      candidates.push(variant);
      reasons ??= choice.reasons;
      states[variant.name] = { fault: 'comes before' };
    }
  };
}
