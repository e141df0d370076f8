import type { Wllama } from '@wllama/wllama';
import { expect, test, vi } from 'vitest';

import { AheadWorker, useWorkerFile } from '../../../../src/llama/internals/worker-proxy.ts';

test('a version of the package whose proxy lacks a method is refused by name', () => {
  const wllama = {} as Wllama;
  useWorkerFile(wllama, (name) => name);
  const assign = () => Object.assign(wllama, { proxy: { taskQueue: [], resultQueue: [] } });
  expect(assign).toThrow(/has no onRecvMsg\. Install version/);
});

/** A worker that has compiled its code at once. */
class FakeWorker extends EventTarget {
  static readonly all: FakeWorker[] = [];
  onmessage: (event: { data: object }) => void = () => undefined;
  ended = false;

  constructor(_url: string, { name }: { name: string }) {
    super();
    this.name = name;
    FakeWorker.all.push(this);
  }

  readonly name: string;

  postMessage({ callbackId }: { callbackId: number }): void {
    queueMicrotask(() => this.onmessage({ data: { callbackId, result: null } }));
  }

  terminate(): void {
    this.ended = true;
  }
}

test('a load takes a worker that was started ahead with the same options, once', async () => {
  vi.stubGlobal('Worker', FakeWorker);
  vi.stubGlobal('addEventListener', () => undefined);
  const received: object[] = [];
  const load = async (ahead: AheadWorker, nbThread: number): Promise<void> => {
    const wllama = {} as Wllama;
    useWorkerFile(wllama, (name) => name, undefined, false, ahead);
    const proxy = {
      resources: { wasmPath: 'a.wasm', compat: false },
      nbThread,
      useAsyncFile: true,
      taskQueue: [],
      resultQueue: [],
      fileBlobs: new Map(),
      onRecvMsg: ({ data }: { data: object }) => void received.push(data),
      fileAlloc: async () => 1,
      fileWrite: () => undefined,
      wllamaAction: () => undefined,
      moduleInit: async (_files: { name: string; blob: Blob }[]): Promise<void> => undefined,
    };
    Object.assign(wllama, { proxy });
    await proxy.moduleInit([{ name: 'a.gguf', blob: new Blob(['a']) }]);
  };
  const options = { pathConfig: { 'wllama.wasm': 'a.wasm' }, nbThread: 2, compat: false, noWebGPU: false };
  const ahead = new AheadWorker(options, (name) => name);
  await load(ahead, 2);
  expect(FakeWorker.all).toHaveLength(1);
  FakeWorker.all[0]?.onmessage({ data: { verb: 'fs.read_req' } });
  expect(received).toEqual([{ verb: 'fs.read_req' }]);
  await load(ahead, 2);
  expect(FakeWorker.all).toHaveLength(2);
  ahead.end();
  expect(FakeWorker.all.map(({ ended }) => ended)).toEqual([false, false]);

  const unused = new AheadWorker(options, (name) => name);
  await load(unused, 1);
  unused.end();
  expect(FakeWorker.all.map(({ ended }) => ended)).toEqual([false, false, true, false]);
});

test('a load limits what the server keeps of prompts, and other actions are as they were', async () => {
  const actions: unknown[][] = [];
  const proxy = {
    taskQueue: [],
    resultQueue: [],
    onRecvMsg: () => undefined,
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
