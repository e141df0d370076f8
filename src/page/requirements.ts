import { withTimeout } from '#base';
import { startErrors } from './load-chunk.ts';

/**
 * Features that localtext requires. Everything else is optional: without service workers or the Cache API
 * there is `createFetch()`, without the origin private file system weights go to the Cache API or stay in
 * memory, without SharedArrayBuffer WASM has one thread, without 64-bit WASM memory another build is fetched,
 * without WebGPU there is WASM.
 */
const REQUIRED: Record<string, () => unknown> = {
  'Web Locks': () => globalThis.navigator?.locks,
  IndexedDB: () => globalThis.indexedDB,
  BroadcastChannel: () => globalThis.BroadcastChannel,
  WebAssembly: () => globalThis.WebAssembly,
  'AbortSignal.any': () => AbortSignal.any,
};

export const missingApis = (): string[] => Object.keys(REQUIRED).filter((name) => !REQUIRED[name]?.());

/** @throws LocaltextError `insecure_context` or `browser_unsupported`, which names what is missing. */
export async function requireBrowser(): Promise<void> {
  const missing = missingApis();
  if (missing.length > 0) throw (await startErrors()).unsupported(missing);
}

/**
 * Runs `work`, which uses IndexedDB.
 * @throws LocaltextError `storage_full`, or `storage_unavailable` when it cannot be used.
 */
export async function withStorage<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw (await startErrors()).storageRefused(error);
  }
}

/** Time limit of the Cache API. If it does not answer, the service worker continues without it. */
const CACHE_MS = 2000;

/** @throws LocaltextError `cache_unavailable`: the service worker could not be installed. */
export async function requireCache(): Promise<void> {
  try {
    await withTimeout(caches.has('localtext'), CACHE_MS);
  } catch (error) {
    throw (await startErrors()).cacheRefused(error);
  }
}
