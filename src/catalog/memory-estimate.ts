import type { CatalogEngines } from './catalog-schema.ts';
import type { MemoryEstimate, SizedVariant } from './engines/engine-rules.ts';
import { ENGINE_RULES } from './engines/index.ts';

/** A longer context costs memory from the start, and a prompt that fills it takes minutes without a GPU. */
const MAX_CONTEXT = 8192;
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
