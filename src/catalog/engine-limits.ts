import { formatBytes, memoryShortage } from './device-fit.ts';
import { chooseContext, estimateMemory } from './memory-estimate.ts';

/** Of llama.cpp's WASM builds, also of the one with 64-bit addresses. */
const MAX_WASM_BYTES = 4 * 2 ** 30;
/** File positions of the build with 32-bit addresses are signed. */
const MAX_FILE_BYTES = 2 ** 31 - 1;

export interface EngineLimits {
  memoryGiB: number | null;
  /** Weights go to the memory of a GPU that computes with half floats (`shader-f16`). */
  gpu: boolean;
  memory64: boolean;
}

/** What a model takes of this device. */
interface Fit {
  memoryBytes: number;
  /** Why that does not fit, as a phrase that follows the model's name; undefined: it may. */
  shortage: string | undefined;
}

export interface ChatModelSize {
  facts: { contextLength: number; kvValues: number };
  bytes: number;
  files: readonly { size: number }[];
}

/** A model in GGUF, with the longest context that fits. */
export function fitChat(
  { facts, bytes, files }: ChatModelSize,
  limits: EngineLimits,
): Fit & { contextLength: number } {
  const sized = { ...facts, engine: 'wllama' as const, files: [{ bytes }] };
  const shortageOf = (needed: number): string | undefined => engineShortage(needed, files, limits);
  const contextLength = chooseContext(sized, (needed) => shortageOf(needed) === undefined);
  const { memoryBytes } = estimateMemory({ ...sized, contextLength });
  return { contextLength, memoryBytes, shortage: shortageOf(memoryBytes) };
}

/** An embedding model in ONNX. ONNX Runtime's memory is that of WASM, also where a GPU computes. */
export function fitEmbedding(bytes: number, limits: EngineLimits): Fit {
  const sized = { engine: 'transformers' as const, contextLength: 0, files: [{ bytes }] };
  const { memoryBytes } = estimateMemory(sized);
  return { memoryBytes, shortage: engineShortage(memoryBytes, [], { ...limits, gpu: false }) };
}

/** Why llama.cpp cannot run such a model here, as a phrase that follows its name; undefined: nothing is known against it. */
export function engineShortage(
  memoryBytes: number,
  files: readonly { size: number }[],
  { memoryGiB, gpu, memory64 }: EngineLimits,
): string | undefined {
  const shortage = memoryShortage(memoryBytes, memoryGiB);
  if (shortage !== undefined) return shortage;
  if (!gpu && memoryBytes > MAX_WASM_BYTES)
    return `needs ${formatBytes(memoryBytes)} of memory, and WebAssembly has at most ${formatBytes(MAX_WASM_BYTES)} where no GPU with shader-f16 holds the weights`;
  const largest = Math.max(0, ...files.map(({ size }) => size));
  if (memory64 || largest <= MAX_FILE_BYTES) return undefined;
  return `has a file of ${formatBytes(largest)}, and this browser, without 64-bit WebAssembly memory, reads at most ${formatBytes(MAX_FILE_BYTES)} of one: split it with llama-gguf-split, and add all parts together`;
}
