import type { Wllama } from '@wllama/wllama';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import {
  findSlotLists,
  withoutSlots,
} from '../../../../src/worker/runtimes/llama-cpp/internals/slot-list.ts';
import {
  proveTaking,
  useWorkerFile,
} from '../../../../src/worker/runtimes/llama-cpp/internals/worker-proxy.ts';

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

test('a version of the package whose proxy lacks a method is refused by name', () => {
  const wllama = {} as Wllama;
  useWorkerFile(wllama, (name) => name);
  const assign = () => Object.assign(wllama, { proxy: { taskId: 1, taskQueue: [], resultQueue: [] } });
  expect(assign).toThrow(/has no onRecvMsg\. Install version/);
});

/** A server with so many places like its list of slots; results that `get_result` answers, by verb. */
function server(places: number, results: { step: string[]; take: string[] }) {
  const verbs: string[] = [];
  const proxy = {
    taskId: 1,
    async pushTask({ verb }: { verb: string }): Promise<unknown> {
      verbs.push(verb);
      if (verb === 'localtext.find-slots') return places;
      const queue = verb === 'localtext.take-result' ? results.take : results.step;
      return { has_more: true, is_error: false, data_json: queue.shift() ?? '' };
    },
    async wllamaAction(this: { pushTask(task: object): Promise<unknown> }, action: string): Promise<unknown> {
      return action === 'get_result' ? this.pushTask({ verb: 'wllama.action' }) : { req_id: 1 };
    },
  };
  return { wllama: { proxy } as unknown as Wllama, verbs };
}

let warn: ReturnType<typeof vi.spyOn>;
beforeEach(() => {
  vi.resetModules();
  warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
});
afterEach(() => vi.restoreAllMocks());

/** Each test begins without doubts. */
const fresh = async (): Promise<typeof proveTaking> =>
  (await import('../../../../src/worker/runtimes/llama-cpp/internals/worker-proxy.ts')).proveTaking;

const AS_EXPECTED = { step: ['', '{"b":1}'], take: ['{"a":1}', ''] };

test('results are taken when one place is found, and a trial answers as expected', async () => {
  const prove = await fresh();
  expect(await prove(server(1, structuredClone(AS_EXPECTED)).wllama, 4)).toBe(true);
  expect(warn).not.toHaveBeenCalled();
});

test.each([0, 2])('nothing is tried nor written when %i places are found', async (places) => {
  const prove = await fresh();
  const { wllama, verbs } = server(places, structuredClone(AS_EXPECTED));
  expect(await prove(wllama, 4)).toBe(false);
  expect(verbs).toEqual(['localtext.find-slots']);
  expect(warn).toHaveBeenCalledOnce();
});

test.each([
  ['a result that waits is not handed out', { step: ['', 'x'], take: ['', ''] }],
  ['a result is computed', { step: ['', 'x'], take: ['x', 'x'] }],
  ['nothing is computed after it', { step: ['', ''], take: ['x', ''] }],
])('a trial in which %s turns it off, for later engines too', async (_, results) => {
  const prove = await fresh();
  expect(await prove(server(1, structuredClone(results)).wllama, 4)).toBe(false);
  expect(await prove(server(1, structuredClone(AS_EXPECTED)).wllama, 4)).toBe(false);
  expect(warn).toHaveBeenCalledOnce();
});

test('a server that does not survive the trial is an error, and the next one is not tried', async () => {
  const prove = await fresh();
  const { wllama } = server(1, structuredClone(AS_EXPECTED));
  Object.assign((wllama as unknown as { proxy: object }).proxy, {
    wllamaAction: () => Promise.reject(new Error('memory access out of bounds')),
  });
  await expect(prove(wllama, 4)).rejects.toMatchObject({ wire: { code: 'engine_crashed' } });
  expect(await prove(server(1, structuredClone(AS_EXPECTED)).wllama, 4)).toBe(false);
});
