/** Names with a hash, defined by the Vite plugin in a clone, and when the package is built. */
declare const __LOCALTEXT_WASM__: Readonly<Record<string, string>> | undefined;

/** An engine's file as this build names it: with a hash of its content. */
export const engineFileName = (name: string): string =>
  (typeof __LOCALTEXT_WASM__ === 'undefined' ? undefined : __LOCALTEXT_WASM__[name]) ?? name;
