import type { FunctionNames } from './link-object.ts';
/** Names that a module has itself, as wllama's does from 3.13 on; null: none. */
export declare function namesIn(module: Uint8Array): FunctionNames | null;
/**
 * Reads the table of function names that wllama ships for its error messages, up to 3.8.
 * @param sourceMap the package's `source-map.ts`
 * @param build `default` (64-bit) or `compat` (32-bit)
 */
export declare function functionNames(sourceMap: string, build: 'default' | 'compat'): FunctionNames;
export declare function readTable(table: Buffer): FunctionNames;
