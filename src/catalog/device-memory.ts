const GIB = 2 ** 30;
/** Browsers cap what they tell of memory, so only a device below the cap is known to be too small. */
const MEMORY_CAP_GIB = 8;
/** Share of the device's memory that a page may take. */
const USABLE_SHARE = 0.6;

/**
 * iOS does not report memory. It ends a tab that takes more than about 1 GB (older phones) to 1.5 GB. An iPhone is counted
 * as a device of 1.5 GiB, of which models may take 0.6. An iPad reports itself as a Mac, and has more.
 */
const IPHONE_GIB = 1.5;

/** Gibibytes as the browser tells them; null: it does not. */
export const reportedMemoryGiB = (navigator: { deviceMemory?: number; userAgent?: string }): number | null =>
  navigator.deviceMemory ?? (/iPhone|iPod/.test(navigator.userAgent ?? '') ? IPHONE_GIB : null);

/** Share of a device's memory that models may take, in bytes. */
export const usableBytes = (memoryGiB: number): number => memoryGiB * GIB * USABLE_SHARE;

/** Why weights that take so much memory do not fit, as a phrase that follows their name; undefined: they may. */
export function memoryShortage(memoryBytes: number, memoryGiB: number | null): string | undefined {
  if (memoryGiB === null || memoryGiB >= MEMORY_CAP_GIB) return undefined;
  if (memoryBytes <= usableBytes(memoryGiB)) return undefined;
  return `needs ${formatBytes(memoryBytes)} of memory, and this device has about ${memoryGiB} GB in all`;
}

export function formatBytes(bytes: number): string {
  return bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : `${Math.round(bytes / 1e6)} MB`;
}

/** Maximum memory of the engines' WASM builds, including those with 64-bit addresses. */
const MAX_WASM_BYTES = 4 * GIB;

/** Why WebAssembly cannot hold so much, as a phrase that follows the weights' name; undefined: it can. */
export const wasmShortage = (memoryBytes: number): string | undefined =>
  memoryBytes <= MAX_WASM_BYTES
    ? undefined
    : `needs ${formatBytes(memoryBytes)} of memory, and WebAssembly has at most ${formatBytes(MAX_WASM_BYTES)} where no GPU with shader-f16 holds the weights`;
