/** A module whose one memory has 64-bit addresses. */
const MEMORY64 = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 5, 3, 1, 4, 1]);

export const hasMemory64 = (): boolean => WebAssembly.validate(MEMORY64);
