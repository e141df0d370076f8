/** Verb of the worker's unsolicited message: the version of the kernels (tools/kernels) in its WASM. */
export const KERNELS_VERSION = 'localtext.kernels-version';

/**
 * Options passed as JSON in the worker's name. A service worker's answer drops a URL's
 * fragment; a query would miss its cache.
 */
export interface RunOptions {
  pathConfig: Record<string, string>;
  nbThread: number;
  compat: boolean;
  noWebGPU: boolean;
}
