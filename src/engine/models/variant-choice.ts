import type { CatalogModel, Variant } from '../../catalog/catalog.ts';
import type { VariantReason } from '../../protocol/worker-control.ts';
import type { Device } from '../device/device.ts';

export interface ChoicePreferences {
  /** Variants by name, the most wanted first; the others follow in the catalog's order. */
  prefer?: string[];
  /** GPUs in software are slower than WASM: taken only when asked for, as tests do. */
  allowFallbackGpu?: boolean;
}

/** What is known of a variant beyond the device: whether its weights can be fetched, and how it fared before. */
export interface VariantState {
  /** Why it cannot be fetched or has failed, as a phrase that follows its name; none: nothing is known against it. */
  fault?: string;
  /** All its files are in the store, so that nothing need be downloaded. */
  stored?: boolean;
}

export interface VariantChoice {
  variant: Variant | null;
  /** Why the first was chosen, then every variant that was passed over before it, with the reason. */
  reasons: VariantReason[];
}

/** Takes the first variant that the device can run and that nothing is known against, and says why. Pure. */
export function chooseVariant(
  model: CatalogModel,
  device: Device,
  preferences: ChoicePreferences = {},
  states: Readonly<Record<string, VariantState>> = {},
): VariantChoice {
  const reasons: VariantReason[] = [];
  for (const variant of inOrder(model, preferences.prefer ?? [])) {
    const state = states[variant.name] ?? {};
    const fault = state.fault ?? unmetNeed(variant, device, preferences, state);
    const { name, engine } = variant;
    if (fault !== undefined) {
      reasons.push({ variant: name, engine, chosen: false, reason: fault });
      continue;
    }
    const reason = preferences.prefer?.includes(name)
      ? 'preferred, and this device can run it'
      : describe(variant, device);
    return { variant, reasons: [{ variant: name, engine, chosen: true, reason }, ...reasons] };
  }
  return { variant: null, reasons };
}

/** Those that the page prefers, then the side that the model's route names, each in the catalog's order. */
function inOrder({ variants, route }: CatalogModel, prefer: string[]): Variant[] {
  const rank = ({ name, engine }: Variant): number => {
    const place = prefer.indexOf(name);
    if (place >= 0) return place;
    const comesLast = engine === 'upstream' ? route === 'device-first' : route === 'server-first';
    return prefer.length + Number(comesLast);
  };
  return variants.toSorted((a, b) => rank(a) - rank(b));
}

function unmetNeed(
  variant: Variant,
  device: Device,
  { allowFallbackGpu, prefer = [] }: ChoicePreferences,
  { stored }: VariantState,
): string | undefined {
  if (variant.onlyPreferred && !prefer.includes(variant.name)) return 'is taken only when a page prefers it';
  const { webgpu, features = [], memoryBytes = 0, bufferBytes = 0, cores = 1 } = variant.needs ?? {};
  const { gpu, storage, memoryGiB, battery } = device;
  if (webgpu || features.length > 0 || bufferBytes > 0) {
    if (!gpu) return 'needs WebGPU, which this browser does not offer here';
    if (gpu.fallback && !allowFallbackGpu) return 'needs a GPU, and WebGPU runs in software here';
    const missing = features.find((feature) => !gpu.features.includes(feature));
    if (missing !== undefined) return `needs ${missing}, which this GPU lacks`;
    if (bufferBytes > gpu.maxStorageBufferBindingSize) {
      return `needs GPU buffers of ${formatBytes(bufferBytes)}, and this GPU's are at most ${formatBytes(gpu.maxStorageBufferBindingSize)}`;
    }
  }
  if (cores > device.cores) return `needs ${cores} processor cores, and this device has ${device.cores}`;
  // Browsers cap what they tell, so only a device below the cap is known to be too small.
  if (memoryGiB !== null && memoryGiB < MEMORY_CAP_GIB && memoryBytes > memoryGiB * GIB * USABLE_SHARE) {
    return `needs ${formatBytes(memoryBytes)} of memory, and this device has about ${memoryGiB} GB in all`;
  }
  if (battery && !battery.charging && battery.level < LOW_BATTERY && memoryBytes > HEAVY_BYTES) {
    return `is heavy work, and the battery is at ${Math.round(battery.level * 100)} %`;
  }
  if (stored) return undefined;
  const bytes = downloadBytes(variant);
  const free = storage === null ? null : storage.quotaBytes - storage.usedBytes;
  if (free !== null && bytes > free)
    return `needs ${formatBytes(bytes)} of storage, and ${formatBytes(free)} are free`;
  if (device.saveData && bytes > SAVE_DATA_BYTES)
    return `is a download of ${formatBytes(bytes)}, and this device is asked to save data`;
  return undefined;
}

const GIB = 2 ** 30;
const MEMORY_CAP_GIB = 8;
/** Of a device's memory, what a page may hope for. */
const USABLE_SHARE = 0.6;
const LOW_BATTERY = 0.2;
const HEAVY_BYTES = 2 * GIB;
const SAVE_DATA_BYTES = 256 * 1e6;

/** Bytes to be downloaded for a variant, about. */
function downloadBytes({ hub, files }: Variant): number {
  return (hub?.approximateBytes ?? 0) + files.reduce((sum, { bytes }) => sum + bytes, 0);
}

function describe(variant: Variant, { gpu }: Device): string {
  if (variant.engine === 'upstream') return 'a server runs it';
  if (variant.needs?.webgpu && gpu) return `the first that this device can run, on its GPU (${gpu.name})`;
  return 'the first that this device can run';
}

function formatBytes(bytes: number): string {
  return bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : `${Math.round(bytes / 1e6)} MB`;
}
