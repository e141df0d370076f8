/** Reads WebAssembly's binary format. */
export declare class WasmReader {
    #private;
    at: number;
    constructor(bytes: Uint8Array, at?: number);
    get atEnd(): boolean;
    byte(): number;
    /** An unsigned number in LEB128. */
    number(): number;
    slice(length: number): Uint8Array;
    rest(): Uint8Array;
    name(): string;
    /** A vector: its length, then as many elements. */
    list<T>(read: (reader: this) => T): T[];
    /** The bytes that `read` goes through. */
    span(read: (reader: this) => void): Uint8Array;
}
/** An unsigned number in LEB128. */
export declare function leb(value: number): Uint8Array;
/** An unsigned number in LEB128, padded to the 5 bytes that an object reserves for it. */
export declare const paddedLeb: (value: number) => Uint8Array;
export declare const SECTION: {
    readonly custom: 0;
    readonly type: 1;
    readonly import: 2;
    readonly function: 3;
    readonly global: 6;
    readonly code: 10;
    readonly data: 11;
};
export declare const KIND: {
    readonly function: 0;
    readonly table: 1;
    readonly memory: 2;
    readonly global: 3;
};
export interface Section {
    id: number;
    content: Uint8Array;
}
export declare function sectionsOf(module: Uint8Array): Section[];
/** @throws Error when the module has no such section */
export declare function sectionOf(sections: readonly Section[], id: number): Uint8Array;
/** Signatures, as they are written. */
export declare const readTypes: (content: Uint8Array) => Uint8Array[];
export interface Body {
    /** Position in the section. */
    start: number;
    code: Uint8Array;
}
export declare const readBodies: (content: Uint8Array) => Body[];
export declare const readNumbers: (content: Uint8Array) => number[];
export interface Import {
    name: string;
    kind: number;
    /** Index of a function's signature; 0 for others. */
    type: number;
}
export declare const readImports: (content: Uint8Array) => Import[];
/** @param contents of the sections that change, by id */
export declare const writeModule: (module: Uint8Array, sections: readonly Section[], contents: ReadonlyMap<number, Uint8Array>) => Uint8Array;
export declare const writeList: (items: readonly Uint8Array[]) => Uint8Array;
export declare const joined: (parts: readonly Uint8Array[]) => Uint8Array;
