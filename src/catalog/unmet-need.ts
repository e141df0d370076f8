import type { Variant } from './catalog.ts';
import type { CatalogEngines } from './catalog-schema.ts';
import { memoryShortage } from './device-memory.ts';
import { ENGINE_RULES } from './engines.ts';
import { estimateMemory } from './memory-estimate.ts';
import type { DeviceNeeds } from './variant.ts';

/** Properties of a device that the needs of variants are about. */
export interface NeededDevice {
  gpu: { fallback: boolean; features: readonly string[] } | null;
  cores: number;
  memoryGiB: number | null;
}

type Needs = Required<Pick<DeviceNeeds, 'webgpu' | 'features' | 'cores'>>;

/**
 * Resolves a variant's needs. `webgpu` requires a hardware GPU, as a software GPU is slower than WASM.
 * A variant with `webgpu: false` accepts a software GPU.
 */
export function needsOf({ engine, needs = {} }: Variant, engines: CatalogEngines = ENGINE_RULES): Needs {
  const { features = [], cores = 1, webgpu = engines[engine]?.needsGpu ?? false } = needs;
  return { features, cores, webgpu: webgpu || features.length > 0 };
}

/** Describes the first need that is not met, as a phrase that follows the variant's name. */
export function unmetNeed(
  variant: Variant,
  device: NeededDevice,
  engines: CatalogEngines = ENGINE_RULES,
): string | undefined {
  const { webgpu, features, cores } = needsOf(variant, engines);
  return (
    (webgpu ? gpuFault(device.gpu, features) : undefined) ??
    (cores > device.cores
      ? `needs ${cores} processor cores, and this device has ${device.cores}`
      : undefined) ??
    memoryShortage(estimateMemory(variant, engines).memoryBytes, device.memoryGiB)
  );
}

function gpuFault(gpu: NeededDevice['gpu'], features: readonly string[]): string | undefined {
  if (!gpu) return 'needs WebGPU, which this browser does not offer here';
  if (gpu.fallback) return 'needs a GPU, and WebGPU runs in software here';
  const missing = features.find((feature) => !gpu.features.includes(feature));
  return missing === undefined ? undefined : `needs ${missing}, which this GPU lacks`;
}
