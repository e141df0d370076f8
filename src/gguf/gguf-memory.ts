import type { GgufFacts } from './gguf-facts.ts';

/** A longer context costs memory from the start, and a prompt that fills it takes minutes without a GPU. */
const MAX_CONTEXT = 8192;
/** Below this a chat is of little use. */
const MIN_CONTEXT = 1024;
/** A value of the KV cache in Q8_0: 34 bytes for 32. */
const KV_BYTES = 34 / 32;
/** llama.cpp's own code, its buffers for one batch and the vocabulary. */
const OVERHEAD_BYTES = 150e6;

/** Bytes of memory that a model takes with a context of so many tokens, about. */
export const ggufMemory = ({ tensorBytes, kvValues }: GgufFacts, contextLength: number): number =>
  Math.round(tensorBytes + kvValues * KV_BYTES * contextLength + OVERHEAD_BYTES);

/** The longest context that fits, up to 8,192 tokens; the shortest useful one where none does. */
export function chooseContext(facts: GgufFacts, fits: (memoryBytes: number) => boolean): number {
  let contextLength = Math.min(facts.contextLength, MAX_CONTEXT);
  while (contextLength / 2 >= MIN_CONTEXT && !fits(ggufMemory(facts, contextLength)))
    contextLength = Math.floor(contextLength / 2);
  return contextLength;
}
