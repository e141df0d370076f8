import { expect, test } from 'vitest';

import { findSlotLists, withoutSlots } from '../../../../../src/engines/llama-cpp/internals/slot-list.ts';

const [LIST, SLOTS, SIZE] = [4096, 16_384, 1024];

/**
 * A memory with the list of four slots: its begin, end and capacity, in addresses of so many bytes; each slot begins with its
 * number and the address of the context.
 */
function memoryWithSlots(width: 4 | 8, numbers: readonly number[], contexts: readonly number[]): Uint32Array {
  const buffer = new ArrayBuffer(65_536);
  const view = new DataView(buffer);
  [SLOTS, SLOTS + 4 * SIZE, SLOTS + 8 * SIZE].forEach((address, index) =>
    view.setUint32(LIST + index * width, address, true),
  );
  numbers.forEach((number, index) => {
    view.setUint32(SLOTS + index * SIZE, number, true);
    view.setUint32(SLOTS + index * SIZE + width, contexts[index] ?? 0, true);
  });
  return new Uint32Array(buffer);
}

test.each([
  { name: 'a list of four slots', numbers: [0, 1, 2, 3], contexts: [800, 800, 800, 800], found: true },
  { name: 'other numbers', numbers: [0, 1, 2, 4], contexts: [800, 800, 800, 800], found: false },
  { name: 'no context', numbers: [0, 1, 2, 3], contexts: [0, 0, 0, 0], found: false },
  { name: 'several contexts', numbers: [0, 1, 2, 3], contexts: [800, 800, 808, 800], found: false },
])("llama.cpp's slots are found, in memory of 64 and 32 bits: $name", ({ numbers, contexts, found }) => {
  for (const width of [8, 4] as const) {
    const words = memoryWithSlots(width, numbers, contexts);
    const expected = { endWord: (LIST + width) / 4, begin: SLOTS, end: SLOTS + 4 * SIZE };
    expect(findSlotLists(words, 4, width === 8 ? 2 : 1)).toEqual(found ? [expected] : []);
  }
});

test('a second place that looks like the list is found too', () => {
  const words = memoryWithSlots(8, [0, 1, 2, 3], [800, 800, 800, 800]);
  words.copyWithin(1024, LIST / 4, LIST / 4 + 6);
  words.copyWithin(2048, LIST / 4, LIST / 4 + 6);
  expect(findSlotLists(words, 4, 2)).toHaveLength(2);
});

test('the list looks empty during a call, also one that fails, and is whole after it', async () => {
  const words = memoryWithSlots(8, [0, 1, 2, 3], [800, 800, 800, 800]);
  const before = words.slice();
  const [list] = findSlotLists(words, 4, 2);
  if (!list) throw new Error('not found');
  const ends: (number | undefined)[] = [];
  const look = async () => void ends.push(words[list.endWord]);
  await withoutSlots(list, () => words, look);
  const failing = withoutSlots(
    list,
    () => words,
    () => look().then(() => Promise.reject(new Error('x'))),
  );
  await expect(failing).rejects.toThrow('x');
  expect(ends).toEqual([SLOTS, SLOTS]);
  expect(words).toEqual(before);
});

test('a list that has changed since is not written', async () => {
  const words = memoryWithSlots(8, [0, 1, 2, 3], [800, 800, 800, 800]);
  const [list] = findSlotLists(words, 4, 2);
  if (!list) throw new Error('not found');
  words[list.endWord] = 7;
  await expect(
    withoutSlots(
      list,
      () => words,
      async () => undefined,
    ),
  ).rejects.toThrow('has changed');
  expect(words[list.endWord]).toBe(7);
});
