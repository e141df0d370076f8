const GIB = 2 ** 30;
/** Memory at which some browsers cap their report. Only a device below it is known to be too small. */
const MEMORY_CAP_GIB = 8;
/** Fraction of the device's memory that models may use. */
const USABLE_SHARE = 0.6;

/**
 * Assumed memory of an iPhone. iOS does not report memory, and ends a tab that uses more than about 1 GB (older
 * phones) to 1.5 GB; models may use 0.6 of this value. An iPad reports itself as a Mac, and has more.
 */
const IPHONE_GIB = 1.5;

/** Memory in GiB as the browser reports it; null if it does not. */
export const reportedMemoryGiB = (navigator: { deviceMemory?: number; userAgent?: string }): number | null =>
  navigator.deviceMemory ?? (/iPhone|iPod/.test(navigator.userAgent ?? '') ? IPHONE_GIB : null);

/** Memory that models may use on a device, in bytes. */
export const usableBytes = (memoryGiB: number): number => memoryGiB * GIB * USABLE_SHARE;

/** Why weights that need this much memory do not fit, as a phrase that follows their name; undefined if they may fit. */
export function memoryShortage(memoryBytes: number, memoryGiB: number | null): string | undefined {
  if (memoryGiB === null || memoryGiB >= MEMORY_CAP_GIB) return undefined;
  if (memoryBytes <= usableBytes(memoryGiB)) return undefined;
  return `needs ${formatBytes(memoryBytes)} of memory, and this device has about ${memoryGiB} GB in all`;
}

export const formatBytes = (bytes: number): string =>
  bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : `${Math.round(bytes / 1e6)} MB`;

/** Maximum memory of the engines' WASM builds, including those with 64-bit addresses. */
const MAX_WASM_BYTES = 4 * GIB;

/** Why weights do not fit into WebAssembly's memory, as a phrase that follows their name; undefined if they fit. */
export const wasmShortage = (memoryBytes: number): string | undefined =>
  memoryBytes <= MAX_WASM_BYTES
    ? undefined
    : `needs ${formatBytes(memoryBytes)} of memory, and WebAssembly has at most ${formatBytes(MAX_WASM_BYTES)} where no GPU with shader-f16 holds the weights`;
