/**
 * Collects the engines' WebAssembly files and scripts from their own packages: name → path. onnxruntime-web is resolved
 * from transformers.js, which requires exactly that version. Its `asyncify` build is the one with WebGPU.
 */
export declare function engineFiles(): Promise<Map<string, string>>;
