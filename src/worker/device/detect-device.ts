import { reportedMemoryGiB } from '../../catalog/device-fit.ts';
import { withTimeout } from '../../util/abort.ts';
import type { Device, Gpu } from './device.ts';

/** The parts of `navigator` that not every browser has. */
export interface DeviceNavigator {
  gpu?: Pick<GPU, 'requestAdapter'>;
  deviceMemory?: number;
  hardwareConcurrency?: number;
  userAgent?: string;
  connection?: { saveData?: boolean };
  storage?: { estimate?(): Promise<{ quota?: number; usage?: number }> };
}

/** Some drivers never settle a request for an adapter. */
const ANSWER_TIMEOUT_MS = 3000;

/** Never throws: what the browser does not report is null. */
export async function detectDevice(
  navigator: DeviceNavigator = globalThis.navigator as DeviceNavigator,
): Promise<Device> {
  const [gpu, estimate] = await Promise.all([
    orNull(() => findGpu(navigator)),
    orNull(() => navigator.storage?.estimate?.()),
  ]);
  return {
    gpu,
    memoryGiB: reportedMemoryGiB(navigator),
    cores: navigator.hardwareConcurrency ?? 1,
    storage:
      estimate?.quota === undefined ? null : { quotaBytes: estimate.quota, usedBytes: estimate.usage ?? 0 },
    saveData: navigator.connection?.saveData === true,
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
  };
}

/** The flag moved from the adapter to its info; Chromium's software adapters can be told by their names as well. */
function isFallback(adapter: GPUAdapter & { isFallbackAdapter?: boolean }): boolean {
  return (
    adapter.info.isFallbackAdapter === true ||
    adapter.isFallbackAdapter === true ||
    /swiftshader|llvmpipe|software/i.test(`${adapter.info.architecture} ${adapter.info.description}`)
  );
}

async function orNull<T>(ask: () => Promise<T> | undefined): Promise<T | null> {
  try {
    return (await withTimeout(Promise.resolve(ask()), ANSWER_TIMEOUT_MS)) ?? null;
  } catch {
    return null;
  }
}
