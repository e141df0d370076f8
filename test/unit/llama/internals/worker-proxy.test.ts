import type { Wllama } from '@wllama/wllama';
import { beforeEach, expect, test, vi } from 'vitest';

import { BLOCKED_WORKER } from '#browser';
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

/** Loads a model with a proxy as wllama's. @returns the messages that the proxy receives */
async function load(ahead: AheadWorker, nbThread: number): Promise<object[]> {
  const received: object[] = [];
  const wllama = {} as Wllama;
  useWorkerFile(wllama, (name) => name, undefined, ahead);
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
  return received;
}

const options = { pathConfig: { 'wllama.wasm': 'a.wasm' }, nbThread: 2, compat: false, noWebGPU: false };

beforeEach(() => {
  FakeWorker.all.length = 0;
  vi.stubGlobal('Worker', FakeWorker);
  vi.stubGlobal('addEventListener', () => undefined);
  vi.stubGlobal('location', { href: 'https://app.example/' });
});

test('a load takes a worker that was started ahead with the same options, once', async () => {
  const ahead = new AheadWorker(options, (name) => name);
  const received = await load(ahead, 2);
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

test.each(['starts', 'waits'])('a load takes no worker that has aborted while it %s', async (phase) => {
  const ahead = new AheadWorker(options, (name) => name);
  if (phase === 'waits') await Promise.resolve();
  FakeWorker.all[0]?.onmessage({ data: { verb: 'signal.abort', args: ['abort', 'no network'] } });
  await load(ahead, 2);
  ahead.end();
  expect(FakeWorker.all.map(({ ended }) => ended)).toEqual([true, false]);
});

test('a load takes a worker that a policy blocks, for its error', async () => {
  const ahead = new AheadWorker(options, (name) => `https://app.example/${name}`);
  FakeWorker.all[0]?.onmessage({ data: { verb: BLOCKED_WORKER, args: ['worker-src'] } });
  await expect(load(ahead, 2)).rejects.toMatchObject({ code: 'worker_blocked' });
  expect(FakeWorker.all).toHaveLength(1);
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
