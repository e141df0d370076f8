import type { Wllama } from '@wllama/wllama';
import { expect, test } from 'vitest';

import { useWorkerFile } from '../../../../../src/engines/llama-cpp/internals/worker-proxy.ts';

test('a version of the package whose proxy lacks a method is refused by name', () => {
  const wllama = {} as Wllama;
  useWorkerFile(wllama, (name) => name);
  const assign = () => Object.assign(wllama, { proxy: { taskId: 1, taskQueue: [], resultQueue: [] } });
  expect(assign).toThrow(/has no onRecvMsg\. Install version/);
});
