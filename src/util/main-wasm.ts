/** A module with a memory of 64-bit addresses, and a function that multiplies bytes by relaxed SIMD. */
const MODULE = new Uint8Array([
  0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 5, 1, 0x60, 0, 1, 0x7b, 3, 2, 1, 0, 5, 3, 1, 4, 1, 10, 15, 1, 13, 0,
  0x41, 1, 0xfd, 15, 0x41, 1, 0xfd, 15, 0xfd, 0x92, 2, 0x0b,
]);

/** Whether this browser runs llama.cpp's main WASM file. Others run the compatibility build. */
export const runsMainWasm = (): boolean => WebAssembly.validate(MODULE);
