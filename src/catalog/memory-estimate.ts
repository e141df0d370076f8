import type { CatalogEngines } from './catalog-schema.ts';
import type { MemoryEstimate, SizedVariant } from './engine-rules.ts';
import { ENGINE_RULES } from './engines.ts';

/** Maximum context length. A longer one costs memory from the start, and filling it takes minutes without a GPU. */
const MAX_CONTEXT = 8192;
/** Minimum context length of a chat. If it does not fit, the next variant is the better choice. */
export const MIN_CONTEXT = 1024;

/** Estimates a variant's memory. A figure in the catalog takes precedence. */
export function estimateMemory(
  variant: SizedVariant,
  engines: CatalogEngines = ENGINE_RULES,
): MemoryEstimate {
  const { memoryBytes = 0, promptStateBytes = 0 } = engines[variant.engine]?.memory?.(variant) ?? {};
  return { memoryBytes: variant.needs?.memoryBytes ?? Math.round(memoryBytes), promptStateBytes };
}

/** Lists context lengths to try: the largest, then halves of it, for devices with less memory. */
export function halvedLengths(largest: number): number[] {
  const lengths = [largest];
  for (let length = largest / 2; length >= MIN_CONTEXT; length /= 2) lengths.push(Math.floor(length));
  return lengths;
}

/** Chooses the longest context that fits, up to `MAX_CONTEXT`; the shortest if none fits. */
export function chooseContext(variant: SizedVariant, fits: (memoryBytes: number) => boolean): number {
  const lengths = halvedLengths(Math.min(variant.contextLength, MAX_CONTEXT));
  const isFitting = (contextLength: number): boolean =>
    fits(estimateMemory({ ...variant, contextLength }).memoryBytes);
  return lengths.find(isFitting) ?? Math.min(...lengths);
}
