/** Names of a module's functions by index. */
export type FunctionNames = ReadonlyMap<number, string>;
/**
 * Links an object into a finished module. A function that is replaced keeps its index, so that calls and tables stay
 * right; its old body becomes a further function, which the object calls by `original_` and the new one's name. Globals of
 * the object are 32-bit integers, and are added.
 * @param entries the object's functions by the name of the function that each replaces
 * @param check looks at the module's code before it changes, and throws when it is not as expected
 * @throws Error naming the function that is missing, not unique or of another signature
 */
export declare function linkObject(module: Uint8Array, names: FunctionNames, object: Uint8Array, entries: Readonly<Record<string, string>>, check?: (bodyOf: (name: string) => Uint8Array) => void): Uint8Array;
