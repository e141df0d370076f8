/// An engine worker like the library's own, with engines that count: they need no weights, and are as quick everywhere.
import { expose } from 'comlink';

import type { EngineStatus } from '../../../src/protocol/status.ts';
import type { WorkerControl } from '../../../src/protocol/worker-control.ts';
import { listenDirectly, type ServePort } from '../../../src/protocol/discovery.ts';
import { engineLock, keepLock } from '../../../src/protocol/locks.ts';
import { delay } from '../../../src/base/async.ts';
import type { Engine } from '../../../src/engine-kit/engine.ts';
import { keepAwake } from '../../../src/engine-worker/requests/keep-awake.ts';
import { servePort, type Serving } from '../../../src/engine-worker/requests/serve-port.ts';
import { StatusChannel } from '../../../src/engine-worker/status-channel.ts';
// Within this script: Vite's code before a dynamic import needs a document.
export { decide } from '../../../src/models/decisions/decide.ts';
import { createModelManager } from '../../support/create-model-manager.ts';

const TOKEN_MS = 20;

const COMMON = { fingerprint: 'counting', slots: 4, traits: {}, unload: async () => {} };
const usage = { promptTokens: 1, cachedTokens: 0, completionTokens: 1 };

/** Counts from one: `1 2 3 …`. Resumed, it goes on where the text ended. */
const countingEngine: Engine<'chat'> = {
  ...COMMON,
  kind: 'chat',
  async *run({ resume, maxTokens = 100 }, signal) {
    const began = performance.now();
    yield { type: 'accepted', accepted: { promptTokens: 1, fingerprint: 'counting' } };
    const first = (resume?.text.trim().split(' ').length ?? 0) + 1;
    for (let number = first; number < first + maxTokens; number++) {
      await delay(TOKEN_MS, signal);
      yield { type: 'delta', delta: { text: `${number} `, tokens: 1 } };
    }
    yield {
      type: 'done',
      finishReason: 'length',
      usage: { ...usage, completionTokens: maxTokens },
      timings: { prefillMs: 0, decodeMs: performance.now() - began },
    };
  },
};

/** Takes as long for each character as a token takes. */
const embeddingEngine: Engine<'embedding'> = {
  ...COMMON,
  kind: 'embedding',
  async *run({ input }, signal) {
    const texts = 'texts' in input ? input.texts : [];
    await delay(TOKEN_MS * texts.join('').length, signal);
    const vectors = texts.map(() => new Float32Array(384).fill(384 ** -0.5));
    yield { type: 'done', vectors, promptTokens: 1, fingerprint: 'counting' };
  },
};

/** Takes as long for each byte as a token takes. */
const transcriptionEngine: Engine<'transcription'> = {
  ...COMMON,
  kind: 'transcription',
  async *run({ file }, signal) {
    yield { type: 'accepted', fingerprint: 'counting' };
    await delay(TOKEN_MS * file.size, signal);
    yield { type: 'done', transcript: { language: 'en', seconds: 1, segments: [] }, usage };
  },
};

const ENGINES = {
  chat: countingEngine,
  embedding: embeddingEngine,
  transcription: transcriptionEngine,
  // No test speaks or ranks with this engine.
  speech: countingEngine,
  rerank: countingEngine,
};

let resolveServing: (serving: Serving) => void = () => {};
const serving = new Promise<Serving>((resolve) => (resolveServing = resolve));

const control: WorkerControl = {
  async start({ epoch, scope, catalog }) {
    await keepLock(navigator.locks, engineLock(epoch));
    const status = (): EngineStatus => ({ epoch, deviceMemoryBytes: null, models: modelManager.status() });
    const channel = new StatusChannel(scope, status);
    const modelManager = createModelManager({
      catalog,
      load: async ({ name }) => {
        const model = catalog.models.find(({ variants }) => variants.some((each) => each.name === name));
        return ENGINES[model?.kind ?? 'chat'];
      },
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
      onRequest() {
        const release = keepAwake();
        return () => {
          release();
          channel.changed();
        };
      },
    };
    listenDirectly(scope, (port) => servePort(port, started));
    resolveServing(started);
  },
  load: () => Promise.resolve(),
  ping: () => Promise.resolve(),
};

addEventListener('message', ({ data, ports: [port] }: MessageEvent<ServePort | undefined>) => {
  if (data?.type === 'localtext:serve' && port) void serving.then((ready) => servePort(port, ready));
});

expose(control);
