import { withTimeout } from '../../protocol/abort.ts';
import type { Device, Gpu } from './device.ts';

/** What of `navigator` not every browser has. */
export interface DeviceNavigator {
  gpu?: Pick<GPU, 'requestAdapter'>;
  deviceMemory?: number;
  hardwareConcurrency?: number;
  userAgent?: string;
  connection?: { saveData?: boolean };
  storage?: { estimate?(): Promise<{ quota?: number; usage?: number }> };
  getBattery?(): Promise<{ level: number; charging: boolean }>;
}

/** No answer of the browser is waited for longer: some drivers never settle a request for an adapter. */
const PATIENCE_MS = 3000;

/**
 * iOS does not report memory. It ends a tab that takes more than about 1 GB (older phones) to 1.5 GB. An iPhone is counted
 * as a device of 1.5 GiB, of which models may take 0.6. An iPad reports itself as a Mac, and has more.
 */
const IPHONE_GIB = 1.5;

/** Looks at the device; never throws, and knows less where the browser tells less. In workers there is no battery. */
export async function detectDevice(
  navigator: DeviceNavigator = globalThis.navigator as DeviceNavigator,
  isolated = globalThis.crossOriginIsolated === true,
): Promise<Device> {
  const [gpu, estimate, battery] = await Promise.all([
    orNull(() => findGpu(navigator)),
    orNull(() => navigator.storage?.estimate?.()),
    orNull(() => navigator.getBattery?.()),
  ]);
  return {
    gpu,
    memoryGiB: navigator.deviceMemory ?? (/iPhone|iPod/.test(navigator.userAgent ?? '') ? IPHONE_GIB : null),
    cores: navigator.hardwareConcurrency ?? 1,
    crossOriginIsolated: isolated,
    storage:
      estimate?.quota === undefined ? null : { quotaBytes: estimate.quota, usedBytes: estimate.usage ?? 0 },
    saveData: navigator.connection?.saveData === true,
    battery: battery && { level: battery.level, charging: battery.charging },
  };
}

async function findGpu(navigator: DeviceNavigator): Promise<Gpu | null> {
  const adapter = await navigator.gpu?.requestAdapter({ powerPreference: 'high-performance' });
  if (!adapter) return null;
  const { vendor, architecture, description } = adapter.info;
  return {
    name: description || [vendor, architecture].filter(Boolean).join(' ') || 'unnamed',
    fallback: isFallback(adapter),
    features: [...adapter.features].toSorted(),
    maxBufferSize: adapter.limits.maxBufferSize,
    maxStorageBufferBindingSize: adapter.limits.maxStorageBufferBindingSize,
  };
}

/** It moved from the adapter to its info; the software adapters of Chromium have names as well. */
function isFallback(adapter: GPUAdapter & { isFallbackAdapter?: boolean }): boolean {
  return (
    adapter.info.isFallbackAdapter === true ||
    adapter.isFallbackAdapter === true ||
    /swiftshader|llvmpipe|software/i.test(`${adapter.info.architecture} ${adapter.info.description}`)
  );
}

async function orNull<T>(ask: () => Promise<T> | undefined): Promise<T | null> {
  try {
    return (await withTimeout(Promise.resolve(ask()), PATIENCE_MS)) ?? null;
  } catch {
    return null;
  }
}
