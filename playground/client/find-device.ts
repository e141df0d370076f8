import { refreshStorage, storage, type StorageState } from './storage.ts';

export interface GpuFacts {
  name: string;
  /** Software, or a slower stand-in. */
  fallback: boolean;
  f16: boolean;
  features: string[];
  limits: { name: string; value: number }[];
}

export interface DeviceFacts {
  gpu: GpuFacts | null;
  isolated: boolean;
  /** Some browsers have none even in isolated pages. */
  sharedMemory: boolean;
  cores: number;
  /** Memory as the browser rounds it; null where it does not report it. */
  memoryGiB: number | null;
  storage: StorageState | null;
  serviceWorker: boolean;
}

/** The limits that decide which weights fit. */
const LIMITS = [
  'maxBufferSize',
  'maxStorageBufferBindingSize',
  'maxComputeWorkgroupStorageSize',
  'maxComputeInvocationsPerWorkgroup',
] as const;

/** Kept for the page's life: Chromium writes a warning to the console for each question without an answer. */
let findingGpu: Promise<GpuFacts | null> | undefined;

export async function findDevice(): Promise<DeviceFacts> {
  findingGpu ??= findGpu();
  const [gpu] = await Promise.all([findingGpu, refreshStorage()]);
  const { deviceMemory } = navigator as Navigator & { deviceMemory?: number };
  return {
    gpu,
    isolated: crossOriginIsolated,
    sharedMemory: typeof globalThis.SharedArrayBuffer === 'function',
    cores: navigator.hardwareConcurrency,
    memoryGiB: deviceMemory ?? null,
    storage: storage.value,
    serviceWorker: Boolean(navigator.serviceWorker?.controller),
  };
}

async function findGpu(): Promise<GpuFacts | null> {
  if (!('gpu' in navigator)) return null;
  const adapter = await navigator.gpu.requestAdapter({ powerPreference: 'high-performance' });
  if (!adapter) return null;
  const { info, features, limits } = adapter;
  return {
    name: info.description || [info.vendor, info.architecture].filter(Boolean).join(' ') || 'unnamed',
    fallback: info.isFallbackAdapter,
    f16: features.has('shader-f16'),
    features: [...features].toSorted(),
    limits: LIMITS.map((name) => ({ name, value: limits[name] })),
  };
}
