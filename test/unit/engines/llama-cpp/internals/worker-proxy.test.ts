import type { Wllama } from '@wllama/wllama';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { proveTaking, useWorkerFile } from '../../../../../src/engines/llama-cpp/internals/worker-proxy.ts';

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
  (await import('../../../../../src/engines/llama-cpp/internals/worker-proxy.ts')).proveTaking;

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
