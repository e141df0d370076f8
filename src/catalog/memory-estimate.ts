import type { Variant, WeightFile } from './catalog.ts';

/** A value of the KV cache in Q8_0: 34 bytes for 32. */
const KV_BYTES = 34 / 32;

interface EngineMemory {
  /** The engine's code, buffers and vocabulary, whatever the model. */
  base: number;
  /** For each byte of weights. */
  share: number;
}

/** Measured, except for web-llm and upstream: docs/decisions/memory-budget.md. */
const ENGINES: Record<Variant['engine'], EngineMemory> = {
  wllama: { base: 190e6, share: 1 },
  transformers: { base: 300e6, share: 1.4 },
  whisper: { base: 300e6, share: 2 },
  'web-llm': { base: 0, share: 1.2 },
  upstream: { base: 0, share: 0 },
};

/** For a GGUF variant that does not say how large its KV cache is. */
const UNKNOWN_KV_SHARE = 0.2;

/** A longer context costs memory from the start, and a prompt that fills it takes minutes without a GPU. */
const MAX_CONTEXT = 8192;
/** Below this a chat is of little use, and the next variant of more. */
export const MIN_CONTEXT = 1024;

/** The parts of a variant that its memory depends on. */
export interface SizedVariant extends Pick<Variant, 'engine' | 'contextLength' | 'hub' | 'needs'> {
  files: readonly Pick<WeightFile, 'bytes'>[];
  kvValues?: number;
}

export interface MemoryEstimate {
  /** While it is loaded: weights, KV cache at the context length, saved prompt states, engine. */
  memoryBytes: number;
  /** What saved states of earlier prompts take of it, at most. */
  promptStateBytes: number;
}

/** Of all files; about, where only the model hub knows exactly. */
export const weightBytes = ({ files, hub }: Pick<SizedVariant, 'files' | 'hub'>): number =>
  files.reduce((sum, { bytes }) => sum + bytes, hub?.approximateBytes ?? 0);

/** What a variant takes of this device's memory, about; the catalog's own figure comes first. */
export function estimateMemory(variant: SizedVariant): MemoryEstimate {
  const { engine, contextLength, needs, kvValues } = variant;
  const weights = weightBytes(variant);
  const isGguf = engine === 'wllama';
  const unknownKv = isGguf && kvValues === undefined ? weights * UNKNOWN_KV_SHARE : 0;
  const kvCache = isGguf ? (kvValues ?? 0) * KV_BYTES * contextLength + unknownKv : 0;
  // llama.cpp keeps states of as many tokens as its context holds.
  const promptStateBytes = Math.round(kvCache);
  const { base, share } = ENGINES[engine];
  const computed = base + share * weights + kvCache + promptStateBytes;
  return { memoryBytes: needs?.memoryBytes ?? Math.round(computed), promptStateBytes };
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
