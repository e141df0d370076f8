/** wllama's builds: with 64-bit addresses, and the one for browsers without them. */
export type LlamaBuild = 'default' | 'compat';
/** The package's WASM file of a build. */
export declare function packageWasm(build: LlamaBuild): string;
/** Changes with the kernels; in `system_fingerprint`. */
export declare const kernelsVersion: () => string;
/**
 * Links the kernels into the package's WASM.
 * @throws Error naming what in the package is not as the kernels expect
 */
export declare function linkLlama(build: LlamaBuild): Uint8Array;
