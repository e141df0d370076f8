import { expect, test, vi } from 'vitest';

import { sleep, virtualTime } from '../../support/virtual-time.ts';
import { watchGpu } from '../../../src/engine-kit/device.ts';

virtualTime();

/** A browser whose GPU process ends when `end` is called. */
function browserWithGpu() {
  let end: (info: { reason: string; message: string }) => void = () => undefined;
  const lost = new Promise((resolve) => (end = resolve));
  const destroy = () => end({ reason: 'destroyed', message: '' });
  const requestAdapter = async () => ({ requestDevice: async () => ({ lost, destroy }) });
  vi.stubGlobal('navigator', { gpu: { requestAdapter } });
  return { crash: () => end({ reason: 'unknown', message: 'the process has ended' }) };
}

test('the end of the GPU process is reported as a lost device', async () => {
  const { crash } = browserWithGpu();
  const gpu = await watchGpu();
  expect(gpu?.lost.aborted).toBe(false);
  crash();
  await vi.waitFor(() => expect(gpu?.lost.reason).toMatchObject({ code: 'device_lost' }));
});

test('a GPU that is watched no more is not lost', async () => {
  browserWithGpu();
  const gpu = await watchGpu();
  gpu?.stop();
  await sleep(0);
  expect(gpu?.lost.aborted).toBe(false);
});

test.each([
  ['offers none', { requestAdapter: async () => null }],
  ['refuses it', { requestAdapter: () => Promise.reject(new Error('blocked')) }],
  ['has no WebGPU', undefined],
])('a browser that %s', async (_, gpu) => {
  vi.stubGlobal('navigator', { gpu });
  expect(await watchGpu()).toBe(null);
});
