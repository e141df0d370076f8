/** WebKitGTK is cross-origin isolated, and has no SharedArrayBuffer unless that is switched on. */
export const hasThreads = (): boolean =>
  crossOriginIsolated && typeof globalThis.SharedArrayBuffer === 'function';

/**
 * Logical processors, counted low where the browser hides their number: WebKit, and private windows of Firefox, report 4
 * for any number below 8. Chromium reports the true number, and is the one that has `deviceMemory`.
 */
export function processors(
  from: { hardwareConcurrency?: number; deviceMemory?: number } = navigator,
): number {
  const { hardwareConcurrency = 1, deviceMemory } = from;
  return hardwareConcurrency === 4 && deviceMemory === undefined ? 2 : hardwareConcurrency;
}
