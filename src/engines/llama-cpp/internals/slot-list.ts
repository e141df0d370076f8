/**
 * Hides the server's slots while a result is taken. The package's `get_result` always computes a token for every slot before it
 * hands out one result; while the list of slots looks empty, it computes nothing.
 *
 * @remarks
 * - Relies on: `server_context::slots` is a `std::vector` (begin, end, capacity) in the memory; a slot begins with its number and
 *   the address of the context that all share. This writes the vector's end, and nothing else.
 * - Read in: @wllama/wllama 3.8.1 (llama.cpp b11364), 64-bit and 32-bit.
 * - Notices: none or several places match, or a request at load time (`proveTaking()`) is not answered as expected.
 * - Then: nothing is written. Replies that run at once stream one after another.
 *
 * docs/upstream-patches/wllama-take-results.md has the change to the package that makes this unnecessary.
 */
export interface SlotList {
  /** Index of the 32-bit word that holds the vector's end. */
  endWord: number;
  begin: number;
  end: number;
}

/** Lower bound; a slot of llama.cpp's server has some kilobytes. */
const MIN_SLOT_BYTES = 512;

/**
 * All vectors of so many slots in the memory.
 * @param width words of an address: 2 with 64-bit addresses, of which the high word is 0
 */
export function findSlotLists(memory: Uint32Array, count: number, width: 1 | 2): SlotList[] {
  const word = (index: number): number => memory[index] ?? 0;
  const found: SlotList[] = [];
  for (let at = 0; at + 3 * width <= memory.length; at += width) {
    const begin = word(at);
    const end = word(at + width);
    const size = (end - begin) / count;
    if (!(size >= MIN_SLOT_BYTES) || size % 8 || begin % 8) continue;
    if (end > word(at + 2 * width) || end > memory.byteLength) continue;
    if (width === 2 && (word(at + 1) || word(at + 3) || word(at + 5))) continue;
    const context = word(begin / 4 + width);
    const isSlot = (slot: number): boolean => {
      const first = (begin + slot * size) / 4;
      return word(first) === slot && word(first + width) === context;
    };
    if (context > 0 && Array.from({ length: count }, (_, slot) => slot).every(isSlot))
      found.push({ endWord: at + width, begin, end });
  }
  return found;
}

/**
 * Runs a call while the list looks empty.
 * @param words views the memory as it is now: growth detaches older views
 * @throws Error, without having written, when the list is not what was found
 */
export async function withoutSlots(
  { endWord, begin, end }: SlotList,
  words: () => Uint32Array,
  call: () => Promise<void>,
): Promise<void> {
  if (words()[endWord] !== end) throw new Error("llama.cpp's list of slots has changed");
  words()[endWord] = begin;
  try {
    await call();
  } finally {
    words()[endWord] = end;
  }
}
