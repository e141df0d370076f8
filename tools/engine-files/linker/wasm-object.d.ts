import { type Body, type Import } from './wasm-module.ts';
/** A function or global of an object, as relocations refer to it. */
export interface ObjectSymbol {
    /** Index among the object's functions or globals: imports first. */
    index: number;
    name: string;
    isImported: boolean;
}
export interface Relocation {
    kind: 'function' | 'type' | 'global';
    /** Position in the code section. */
    offset: number;
    /** Index of the symbol, or of the signature where the kind is `type`. */
    index: number;
}
/** A relocatable object, as `clang -c` writes it. */
export interface WasmObject {
    functionImports: Import[];
    types: Uint8Array[];
    /** Signatures of the object's own functions. */
    functionTypes: number[];
    bodies: Body[];
    symbols: ObjectSymbol[];
    relocations: Relocation[];
}
/** @throws Error for an object with data, tables or other kinds of relocations */
export declare function readObject(object: Uint8Array): WasmObject;
