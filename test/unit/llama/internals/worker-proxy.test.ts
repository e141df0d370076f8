import type { Wllama } from '@wllama/wllama';
import { expect, test } from 'vitest';

import { useWorkerFile } from '../../../../src/llama/internals/worker-proxy.ts';

test('a version of the package whose proxy lacks a method is refused by name', () => {
  const wllama = {} as Wllama;
  useWorkerFile(wllama, (name) => name);
  const assign = () => Object.assign(wllama, { proxy: { taskId: 1, taskQueue: [], resultQueue: [] } });
  expect(assign).toThrow(/has no onRecvMsg\. Install version/);
});

test('a load limits what the server keeps of prompts, and other actions are as they were', async () => {
  const actions: unknown[][] = [];
  const proxy = {
    taskId: 1,
    taskQueue: [],
    resultQueue: [],
    onRecvMsg: () => undefined,
    pushTask: () => undefined,
    fileAlloc: () => undefined,
    fileWrite: () => undefined,
    wllamaAction: async (...asked: unknown[]) => void actions.push(asked),
  };
  const wllama = {} as Wllama;
  useWorkerFile(wllama, (name) => name, { checkpoints: 2, savedBytes: 2 ** 20 });
  Object.assign(wllama, { proxy });
  await proxy.wllamaAction('load', { n_ctx: 512 });
  await proxy.wllamaAction('cancel', { req_id: 1 });
  // The limit in bytes is for the linked kernels alone.
  expect(actions).toEqual([
    ['load', { n_ctx: 512, n_ctx_checkpoints: 2 }],
    ['cancel', { req_id: 1 }],
  ]);
});
