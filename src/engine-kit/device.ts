import { reportedMemoryGiB } from '#catalog';
import { deviceLost, delay, withTimeout } from '#base';

/** Time for a crashed GPU process to restart. Measured: 30 ms. */
const RESTART_MS = 100;

/** Whether the last call of `requestAdapter()` found no adapter. The next call then does not retry. */
let isAbsent = false;

/**
 * Requests an adapter, and retries once if there is none. Chromium's GPU process may crash while the browser
 * starts: the first request then resolves to null, and a request 30 ms later to the GPU (seen on Linux with
 * Vulkan, at four starts of four).
 * @param asked when a first request was made elsewhere in this browser, in milliseconds since 1970
 */
export async function requestAdapter(
  gpu: Pick<GPU, 'requestAdapter'> | undefined,
  asked = Date.now(),
): Promise<GPUAdapter | null> {
  const request = async () => (await gpu?.requestAdapter({ powerPreference: 'high-performance' })) ?? null;
  let adapter = await request();
  if (!adapter && gpu && !isAbsent) {
    await delay(Math.min(RESTART_MS, Math.max(0, asked + RESTART_MS - Date.now())));
    adapter = await request();
  }
  isAbsent = adapter === null;
  return adapter;
}

/** Time limit for the GPU process to answer, in milliseconds. It may be restarting after a crash. */
const GPU_DEADLINE_MS = 5000;

/** GPU in use, watched through a separate device: all devices of a GPU process are lost together. */
export interface WatchedGpu {
  /** Aborts with `device_lost`. */
  lost: AbortSignal;
  stop(): void;
}

/** Watches the GPU; null if the browser offers none now. After several losses it may offer none until it is restarted. */
export async function watchGpu(): Promise<WatchedGpu | null> {
  const lost = new AbortController();
  const opening = requestAdapter(navigator.gpu)
    .then((adapter) => adapter?.requestDevice())
    .catch(() => undefined);
  const gpu = await withTimeout(opening, GPU_DEADLINE_MS);
  if (!gpu) return null;
  void gpu.lost.then(({ reason, message }) => reason !== 'destroyed' && lost.abort(deviceLost(message)));
  return { lost: lost.signal, stop: () => gpu.destroy() };
}

/** Checks both conditions: WebKitGTK can be cross-origin isolated without SharedArrayBuffer. */
export const hasThreads = (): boolean =>
  crossOriginIsolated && typeof globalThis.SharedArrayBuffer === 'function';

/**
 * Why no WASM engine can run here, as a phrase that follows a variant's name. Their files have shared memory,
 * also with one thread; Firefox can switch it off.
 */
export async function unmetSharedMemory(): Promise<string | undefined> {
  try {
    void new WebAssembly.Memory({ initial: 0, maximum: 0, shared: true });
    return undefined;
  } catch {
    return 'needs shared WebAssembly memory, which this browser has switched off';
  }
}

type ProcessorNavigator = Pick<DeviceNavigator, 'hardwareConcurrency' | 'deviceMemory'>;

/**
 * Number of logical processors, assumed low if the browser hides it: WebKit, and Firefox in private windows, report 4
 * for any number below 8. Chromium reports the true number; only Chromium has `deviceMemory`.
 */
export function processors(from: ProcessorNavigator = navigator): number {
  const { hardwareConcurrency = 1, deviceMemory } = from;
  return hardwareConcurrency === 4 && deviceMemory === undefined ? 2 : hardwareConcurrency;
}

/**
 * Number of llama.cpp's threads: half of the reported processors, which is about the number of physical cores. The
 * threads synchronize by spinning, some hundred times a token: if one is preempted, all of them stall. Phones that
 * hide their number have six cores or more, so two threads suit them.
 */
export const chatThreads = ({ hardwareConcurrency = 1 }: ProcessorNavigator = navigator): number =>
  Math.max(1, Math.floor(hardwareConcurrency / 2));

/** Properties of this device that decide which variant is selected. */
export interface Device {
  /** GPU that the browser offers through WebGPU; null if it offers none. */
  gpu: Gpu | null;
  /** Memory in GiB as the browser reports it, rounded and at most 8 (Chromium: 32); 1.5 on an iPhone; null if not reported. */
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

/** Time limit for an adapter request, in milliseconds. Some drivers never settle it. */
const ANSWER_TIMEOUT_MS = 3000;

/**
 * Detects the device's properties; those that the browser does not report are null. Never throws.
 * @param asked as `requestAdapter()` has it
 */
export async function detectDevice(
  navigator: DeviceNavigator = globalThis.navigator as DeviceNavigator,
  asked?: number,
): Promise<Device> {
  return {
    gpu: await withTimeout(findGpu(navigator, asked), ANSWER_TIMEOUT_MS).catch(() => null),
    memoryGiB: reportedMemoryGiB(navigator),
    cores: navigator.hardwareConcurrency ?? 1,
    saveData: navigator.connection?.saveData === true,
  };
}

async function findGpu({ gpu }: DeviceNavigator, asked: number | undefined): Promise<Gpu | null> {
  const adapter = await requestAdapter(gpu, asked);
  if (!adapter) return null;
  const { vendor, architecture, description } = adapter.info;
  return {
    name: description || [vendor, architecture].filter(Boolean).join(' ') || 'unnamed',
    fallback: isFallback(adapter),
    features: [...adapter.features].toSorted(),
  };
}

/** Detects a software adapter. The flag moved from the adapter to its info; Chromium's are also recognizable by name. */
const isFallback = (adapter: GPUAdapter & { isFallbackAdapter?: boolean }): boolean =>
  adapter.info.isFallbackAdapter === true ||
  adapter.isFallbackAdapter === true ||
  /swiftshader|llvmpipe|software/i.test(`${adapter.info.architecture} ${adapter.info.description}`);
