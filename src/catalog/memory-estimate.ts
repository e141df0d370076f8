import type { CatalogEngines } from './catalog-schema.ts';
import type { MemoryEstimate, SizedVariant } from './engines/engine-rules.ts';
import { ENGINE_RULES } from './engines/index.ts';

/** A longer context costs memory from the start, and a prompt that fills it takes minutes without a GPU. */
const MAX_CONTEXT = 8192;
/** An embedding model computes a text in one step, whose buffers grow with it. */
const MAX_TEXT_TOKENS = 2048;
/** Smallest useful context of a chat; below it, the next variant is the better choice. */
export const MIN_CONTEXT = 1024;

/** Estimates a variant's memory on this device; the catalog's own figure comes first. */
export function estimateMemory(
  variant: SizedVariant,
  engines: CatalogEngines = ENGINE_RULES,
): MemoryEstimate {
  const { memoryBytes = 0, promptStateBytes = 0 } = engines[variant.engine]?.memory?.(variant) ?? {};
  return { memoryBytes: variant.needs?.memoryBytes ?? Math.round(memoryBytes), promptStateBytes };
}

/** The largest context first, then halves of it, for devices without the memory. */
export function halvedLengths(largest: number): number[] {
  const lengths = [largest];
  for (let length = largest / 2; length >= MIN_CONTEXT; length /= 2) lengths.push(Math.floor(length));
  return lengths;
}

/** The longest context that fits, up to 8,192 tokens; the shortest useful one where none does. */
export function chooseContext(variant: SizedVariant, fits: (memoryBytes: number) => boolean): number {
  const lengths = halvedLengths(Math.min(variant.contextLength, MAX_CONTEXT));
  const isFitting = (contextLength: number): boolean =>
    fits(estimateMemory({ ...variant, contextLength }).memoryBytes);
  return lengths.find(isFitting) ?? Math.min(...lengths);
}

const GIB = 2 ** 30;
/** Browsers cap what they tell of memory, so only a device below the cap is known to be too small. */
const MEMORY_CAP_GIB = 8;
/** Share of the device's memory that a page may take. */
const USABLE_SHARE = 0.6;

/**
 * iOS does not report memory. It ends a tab that takes more than about 1 GB (older phones) to 1.5 GB. An iPhone is counted
 * as a device of 1.5 GiB, of which models may take 0.6. An iPad reports itself as a Mac, and has more.
 */
const IPHONE_GIB = 1.5;

/** Gibibytes as the browser tells them; null: it does not. */
export const reportedMemoryGiB = (navigator: { deviceMemory?: number; userAgent?: string }): number | null =>
  navigator.deviceMemory ?? (/iPhone|iPod/.test(navigator.userAgent ?? '') ? IPHONE_GIB : null);

/** Share of a device's memory that models may take, in bytes. */
export const usableBytes = (memoryGiB: number): number => memoryGiB * GIB * USABLE_SHARE;

/** Why weights that take so much memory do not fit, as a phrase that follows their name; undefined: they may. */
export function memoryShortage(memoryBytes: number, memoryGiB: number | null): string | undefined {
  if (memoryGiB === null || memoryGiB >= MEMORY_CAP_GIB) return undefined;
  if (memoryBytes <= usableBytes(memoryGiB)) return undefined;
  return `needs ${formatBytes(memoryBytes)} of memory, and this device has about ${memoryGiB} GB in all`;
}

export function formatBytes(bytes: number): string {
  return bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : `${Math.round(bytes / 1e6)} MB`;
}

/** Maximum memory of llama.cpp's WASM builds, including the one with 64-bit addresses. */
const MAX_WASM_BYTES = 4 * 2 ** 30;
/** File positions of the build with 32-bit addresses are signed. */
const MAX_FILE_BYTES = 2 ** 31 - 1;

export interface EngineLimits {
  memoryGiB: number | null;
  /** Weights go to the memory of a GPU that computes with half floats (`shader-f16`). */
  gpu: boolean;
  memory64: boolean;
}

/** Memory of a model on this device. */
interface Fit {
  memoryBytes: number;
  /** Why that does not fit, as a phrase that follows the model's name; undefined: it may. */
  shortage: string | undefined;
}

export interface GgufSize {
  facts: { contextLength: number; kvValues: number; embedding: { dimensions: number } | null };
  bytes: number;
  files: readonly { size: number }[];
  /** The part that sees, counted in `bytes`. */
  projector?: object | null;
}

/** A model in GGUF, with the longest context that fits. A GPU holds no weights of an embedding model. */
export function fitGguf(
  { facts, bytes, files, projector }: GgufSize,
  limits: EngineLimits,
): Fit & { contextLength: number } {
  const role = projector ? { role: 'projector' as const } : {};
  const { contextLength: trained, kvValues, embedding } = facts;
  const sized = {
    engine: 'wllama' as const,
    files: [{ bytes, ...role }],
    kvValues,
    contextLength: embedding ? Math.min(trained, MAX_TEXT_TOKENS) : trained,
    ...(embedding && { dimensions: embedding.dimensions }),
  };
  const gpu = limits.gpu && !embedding;
  const shortageOf = (needed: number): string | undefined =>
    engineShortage(needed, files, { ...limits, gpu });
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
