import type { Wllama } from '@wllama/wllama';
import { expect, test, vi } from 'vitest';

import { LlamaReplyReader } from '../../../../src/worker/runtimes/llama-cpp/completion-format.ts';
import {
  NativeLog,
  RequestRejectedError,
  serverCalls,
} from '../../../../src/worker/runtimes/llama-cpp/internals/server-calls.ts';

/** What each browser makes of an answer that was never written. */
const MARKERS = [
  'Invalid typed array length: 1163217991',
  'Invalid magic number',
  'attempting to construct out-of-bounds Uint8Array on ArrayBuffer',
  'Length out of range of buffer',
];
const NOT_UTF8 = '[json.exception.type_error.316] invalid UTF-8 byte at index 0: 0x80';

/** A worker whose calls fail with this, after llama.cpp has logged that. */
function failing(message: string, logged: string | null) {
  const log = new NativeLog();
  const wllamaAction = async () => {
    if (logged !== null) log.error(logged);
    throw new RangeError(message);
  };
  return serverCalls({ proxy: { wllamaAction } } as unknown as Wllama, log, true);
}

test.each(MARKERS)('a request that is not understood is refused: %s', async (message) => {
  await expect(failing(message, 'parse error').begin({})).rejects.toBeInstanceOf(RequestRejectedError);
});

test.each(MARKERS)('a result that is not UTF-8 is replaced, and the reply goes on: %s', async (message) => {
  const { chunks, more } = await failing(message, NOT_UTF8).step(1);
  expect(chunks).toEqual([{ choices: [{ text: '\ufffd' }] }]);
  expect(more).toBe(true);
});

test.each(MARKERS)(
  'any other exception of a step or a cancel is the end of the server: %s',
  async (message) => {
    for (const logged of ['empty grammar stack', null]) {
      const calls = failing(message, logged);
      for (const call of [calls.step(1), calls.cancel(1)]) {
        const error: unknown = await call.catch((reason: unknown) => reason);
        expect(error).toBeInstanceOf(RangeError);
      }
    }
  },
);

test.each([
  [false, 1],
  [true, 0],
])(
  'on a GPU (%s), the end of a server stops replies from streaming together %i times',
  async (onGpu, times) => {
    // Nothing is doubted yet.
    vi.resetModules();
    const fresh = await import('../../../../src/worker/runtimes/llama-cpp/internals/server-calls.ts');
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    const wllamaAction = async () => {
      throw new Error('unreachable');
    };
    const wllama = { proxy: { wllamaAction } } as unknown as Wllama;
    try {
      await expect(fresh.serverCalls(wllama, new NativeLog(), true, onGpu).step(1)).rejects.toThrow(
        'unreachable',
      );
      expect(warn).toHaveBeenCalledTimes(times);
    } finally {
      warn.mockRestore();
    }
  },
);

test('an error that was logged before does not excuse the next one', async () => {
  const log = new NativeLog();
  let failures = 0;
  const wllamaAction = async () => {
    if (failures++ === 0) log.error(NOT_UTF8);
    throw new RangeError(MARKERS[0]);
  };
  const calls = serverCalls({ proxy: { wllamaAction } } as unknown as Wllama, log, true);
  await calls.step(1);
  await expect(calls.step(1)).rejects.toThrow('1163217991');
});

test('a first result that is not UTF-8 is given after the reply was accepted, with the right counts', () => {
  const reader = new LlamaReplyReader(undefined, 'f');
  const timings = { cache_n: 2, prompt_n: 5, prompt_ms: 1, predicted_n: 2, predicted_ms: 1 };
  const events = [
    ...reader.read({ choices: [{ text: '\ufffd' }] }),
    ...reader.read({ choices: [{ text: 'b' }], timings }),
    ...reader.end(),
  ];
  expect(events.map(({ type }) => type)).toEqual(['accepted', 'delta', 'done']);
  expect(events[0]).toMatchObject({ accepted: { promptTokens: 7, cachedTokens: 2 } });
  expect(events[1]).toMatchObject({ delta: { text: '\ufffdb', tokens: 2 } });
});
