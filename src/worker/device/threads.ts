/** WebKitGTK is cross-origin isolated, and has no SharedArrayBuffer unless that is switched on. */
export const hasThreads = (): boolean =>
  crossOriginIsolated && typeof globalThis.SharedArrayBuffer === 'function';

interface ProcessorNavigator {
  hardwareConcurrency?: number;
  deviceMemory?: number;
}

/**
 * Logical processors, counted low where the browser hides their number: WebKit, and private windows of Firefox, report 4
 * for any number below 8. Chromium reports the true number, and is the one that has `deviceMemory`.
 */
export function processors(from: ProcessorNavigator = navigator): number {
  const { hardwareConcurrency = 1, deviceMemory } = from;
  return hardwareConcurrency === 4 && deviceMemory === undefined ? 2 : hardwareConcurrency;
}

/**
 * For llama.cpp: half of the reported processors, which is about the real cores, with one left for the page. Its threads
 * wait for each other by spinning, some hundred times a token: with one of them off its core, all stand still. A
 * phone behind a hidden number has six cores and more, so that two threads are right there.
 */
export function chatThreads({ hardwareConcurrency = 1 }: ProcessorNavigator = navigator): number {
  return Math.max(1, Math.floor(hardwareConcurrency / 2));
}
