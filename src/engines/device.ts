import { reportedMemoryGiB } from '../catalog/device-memory.ts';
import { deviceLost } from '../errors/engine-errors.ts';
import { delay, withTimeout } from '../util/async.ts';

/** Time in which a GPU process that has ended starts again. Measured: 30 ms. */
const RESTART_MS = 100;

/** Whether the last call of `requestAdapter` found none: the next one then asks once. */
let isAbsent = false;

/**
 * Requests an adapter, and once more where there is none. Chromium's GPU process may end as the browser starts: the first
 * request then resolves to null, and one 30 ms later to the GPU (seen on Linux with Vulkan, in each of four new browsers).
 */
export async function requestAdapter(
  gpu: Pick<GPU, 'requestAdapter'> | undefined,
): Promise<GPUAdapter | null> {
  const request = async () => (await gpu?.requestAdapter({ powerPreference: 'high-performance' })) ?? null;
  let adapter = await request();
  if (!adapter && gpu && !isAbsent) {
    await delay(RESTART_MS);
    adapter = await request();
  }
  isAbsent = adapter === null;
  return adapter;
}

/** How long the GPU's process may take to answer, in milliseconds: it may be starting again after it has failed. */
const GPU_DEADLINE_MS = 5000;

/** GPU in use, watched through a separate device: all devices of a GPU process are lost together. */
export interface WatchedGpu {
  /** Aborts with `device_lost`. */
  lost: AbortSignal;
  stop(): void;
}

/** Watches the GPU; null: the browser offers none now. After several losses it may offer none until it is restarted. */
export async function watchGpu(): Promise<WatchedGpu | null> {
  const lost = new AbortController();
  const opening = requestAdapter(navigator.gpu)
    .then((adapter) => adapter?.requestDevice())
    .catch(() => undefined);
  const device = await withTimeout(opening, GPU_DEADLINE_MS);
  if (!device) return null;
  void device.lost.then(({ reason, message }) => reason !== 'destroyed' && lost.abort(deviceLost(message)));
  return { lost: lost.signal, stop: () => device.destroy() };
}

/** WebKitGTK is cross-origin isolated, and has no SharedArrayBuffer unless that is switched on. */
export const hasThreads = (): boolean =>
  crossOriginIsolated && typeof globalThis.SharedArrayBuffer === 'function';

type ProcessorNavigator = Pick<DeviceNavigator, 'hardwareConcurrency' | 'deviceMemory'>;

/**
 * Logical processors, counted low where the browser hides their number: WebKit, and private windows of Firefox, report 4
 * for any number below 8. Chromium reports the true number, and is the one that has `deviceMemory`.
 */
export function processors(from: ProcessorNavigator = navigator): number {
  const { hardwareConcurrency = 1, deviceMemory } = from;
  return hardwareConcurrency === 4 && deviceMemory === undefined ? 2 : hardwareConcurrency;
}

/**
 * Threads of llama.cpp: half of the reported processors, which is about the real cores, with one left for the page. They
 * wait for each other by spinning, some hundred times a token: with one off its core, all stand still. A
 * phone behind a hidden number has six cores and more, so that two threads are right there.
 */
export const chatThreads = ({ hardwareConcurrency = 1 }: ProcessorNavigator = navigator): number =>
  Math.max(1, Math.floor(hardwareConcurrency / 2));

/** Abilities of this device, on which the choice of a variant depends. */
export interface Device {
  /** GPU that the browser offers through WebGPU; null if none. */
  gpu: Gpu | null;
  /** Gibibytes as the browser reports them, rounded and at most 8 (Chromium: 32); 1.5 on an iPhone; null: not reported. */
  memoryGiB: number | null;
  /** Logical processors. */
  cores: number;
  /** The user requested reduced data usage. */
  saveData: boolean;
}

export interface Gpu {
  /** `nvidia ampere`, as far as the browser reports it. */
  name: string;
  /** A software implementation on the CPU: correct, and very slow. */
  fallback: boolean;
  /** Names as in the WebGPU specification. */
  features: string[];
}

/** The parts of `navigator` that not every browser has. */
export interface DeviceNavigator {
  gpu?: Pick<GPU, 'requestAdapter'>;
  deviceMemory?: number;
  hardwareConcurrency?: number;
  userAgent?: string;
  connection?: { saveData?: boolean };
}

/** Limit for a request for an adapter, which some drivers never settle. */
const ANSWER_TIMEOUT_MS = 3000;

/** Detects the device's abilities; null is what the browser does not report. Never throws. */
export async function detectDevice(
  navigator: DeviceNavigator = globalThis.navigator as DeviceNavigator,
): Promise<Device> {
  return {
    gpu: await withTimeout(findGpu(navigator), ANSWER_TIMEOUT_MS).catch(() => null),
    memoryGiB: reportedMemoryGiB(navigator),
    cores: navigator.hardwareConcurrency ?? 1,
    saveData: navigator.connection?.saveData === true,
  };
}

async function findGpu(navigator: DeviceNavigator): Promise<Gpu | null> {
  const adapter = await requestAdapter(navigator.gpu);
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
