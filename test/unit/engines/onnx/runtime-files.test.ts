import { expect, test, vi } from 'vitest';

import { withThreads } from '../../../../src/engines/onnx/runtime-files.ts';
import { wasmOptions } from '../../../../src/engines/onnx/wasm-options.ts';

/** Failure as onnxruntime-web reports it. */
const LATE =
  'no available backend found. ERR: [wasm] Error: WebAssembly backend initializing failed due to timeout: 30000ms';

const opener = (fails: (threads: number) => string | null) => {
  const asked: number[] = [];
  const open = async (threads: number): Promise<string> => {
    asked.push(threads);
    const failure = fails(threads);
    if (failure !== null) throw new Error(failure);
    return `with ${threads}`;
  };
  return { asked, open };
};

test('threads that do not start in time: one thread', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
  const { asked, open } = opener((threads) => (threads > 1 ? LATE : null));
  expect(await withThreads(4, open)).toEqual({ opened: 'with 1', threads: 1 });
  expect(asked).toEqual([4, 1]);
  expect(warn).toHaveBeenCalledOnce();
  warn.mockRestore();
});

test('threads that start, and other failures, are not tried again', async () => {
  const good = opener(() => null);
  expect(await withThreads(4, good.open)).toEqual({ opened: 'with 4', threads: 4 });
  expect(good.asked).toEqual([4]);
  const bad = opener(() => 'out of memory');
  await expect(withThreads(4, bad.open)).rejects.toThrow('out of memory');
  expect(bad.asked).toEqual([4]);
});

test.each([
  ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 2, 30_000],
  ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 1, 0],
  ['Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/156.0.0.0 Safari/537.36', 2, 0],
])('%s with %i threads: %i ms to start', (userAgent, threads, initTimeout) => {
  vi.stubGlobal('navigator', { userAgent });
  expect(wasmOptions({ script: 'a.js', wasm: 'a.wasm', threads })).toEqual({
    wasmPaths: { mjs: 'a.js', wasm: 'a.wasm' },
    numThreads: threads,
    initTimeout,
  });
});
