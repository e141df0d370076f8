/** The worker's one message that nothing asked for: which version of the kernels (tools/kernels) its WASM has. */
export const KERNELS_VERSION = 'localtext.kernels-version';

/** The worker's name, as JSON: a service worker's answer loses the URL's fragment, and a query would miss its cache. */
export interface RunOptions {
  pathConfig: Record<string, string>;
  nbThread: number;
  compat: boolean;
  noWebGPU: boolean;
}
