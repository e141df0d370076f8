/// An engine worker like the library's own, with an engine that counts: it needs no weights, and is as quick everywhere.
import { expose } from 'comlink';

import type { EngineStatus, WorkerControl } from '../../../src/protocol/worker-control.ts';
import { hearCalls, type ServePort } from '../../../src/protocol/discovery.ts';
import { engineLock, holdLock } from '../../../src/protocol/locks.ts';
import { delay } from '../../../src/util/async.ts';
import type { Engine } from '../../../src/engines/engine.ts';
import { servePort, type Serving } from '../../../src/engine-host/requests/serve-port.ts';
import { StatusChannel } from '../../../src/engine-host/models/model-status.ts';
import { createModelManager } from '../../support/create-model-manager.ts';

const TOKEN_MS = 20;

/** Counts from one: `1 2 3 …`. Resumed, it goes on where the text ended. */
const countingEngine: Engine<'chat'> = {
  kind: 'chat',
  fingerprint: 'counting',
  slots: 4,
  facts: {},
  async *run({ resume, maxTokens = 100 }, signal) {
    const began = performance.now();
    yield { type: 'accepted', accepted: { promptTokens: 1, fingerprint: 'counting' } };
    const first = (resume?.text.trim().split(' ').length ?? 0) + 1;
    for (let number = first; number < first + maxTokens; number++) {
      await delay(TOKEN_MS, signal);
      yield { type: 'delta', delta: { text: `${number} `, tokens: 1 } };
    }
    const usage = { promptTokens: 1, cachedTokens: 0, completionTokens: maxTokens };
    const timings = { queueMs: 0, prefillMs: 0, decodeMs: performance.now() - began };
    yield { type: 'done', finishReason: 'length', usage, timings };
  },
  unload: async () => {},
};

let resolveServing: (serving: Serving) => void = () => {};
const serving = new Promise<Serving>((resolve) => (resolveServing = resolve));

const control: WorkerControl = {
  async start({ epoch, scope, catalog }) {
    await holdLock(navigator.locks, engineLock(epoch));
    const status = (): EngineStatus => ({ epoch, deviceMemoryBytes: null, models: modelManager.status() });
    const channel = new StatusChannel(scope, status);
    const modelManager = createModelManager({
      catalog,
      load: async () => countingEngine,
      onChange: () => channel.changed(),
    });
    const started: Serving = {
      epoch,
      scope,
      modelManager,
      imageOrigins: [],
      locks: navigator.locks,
      // No test with this engine touches the weights.
      weights: {} as Serving['weights'],
      status,
      onRequest: () => () => channel.changed(),
    };
    hearCalls(scope, (port) => servePort(port, started));
    resolveServing(started);
  },
  ping: () => Promise.resolve(),
};

addEventListener('message', ({ data, ports: [port] }: MessageEvent<ServePort | undefined>) => {
  if (data?.type === 'localtext:serve' && port) void serving.then((ready) => servePort(port, ready));
});

expose(control);
