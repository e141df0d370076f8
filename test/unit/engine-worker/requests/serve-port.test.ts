import { afterEach, expect, test, vi } from 'vitest';

import type { Engine } from '../../../../src/engine-kit/engine.ts';
import { contextLengthExceeded, engineCrashed } from '../../../../src/base/errors/engine-errors.ts';
import { servePort } from '../../../../src/engine-worker/requests/serve-port.ts';
import { CREDIT_WINDOW, type EngineMessage } from '../../../../src/protocol/engine-port.ts';
import type { ChatEvent, ChatJob } from '../../../../src/jobs/chat.ts';
import { requestLock } from '../../../../src/protocol/locks.ts';
import { PROTOCOL_VERSION } from '../../../../src/protocol/version.ts';
import { weightsService } from '../../weights/weights-service.ts';
import { sleep, virtualTime } from '../../../support/virtual-time.ts';
import { createModelManager } from '../../../support/create-model-manager.ts';
import { chatJob } from '../../../support/chat-job.ts';
import { catalogOf, ggufVariant, modelOf } from '../../../support/catalogs.ts';

virtualTime();

const job = chatJob({ input: { prompt: 'hello' } });
const variant = ggufVariant('v');
const catalog = catalogOf(modelOf('m', [variant]));
const done: ChatEvent = {
  type: 'done',
  finishReason: 'stop',
  usage: { promptTokens: 1, cachedTokens: 0, completionTokens: 1 },
  timings: { prefillMs: 0, decodeMs: 0 },
};

/** Yields tokens until it is aborted or has given as many as it was made for. */
class FakeEngine implements Engine<'chat'> {
  readonly kind = 'chat';
  readonly fingerprint = 'fake';
  readonly slots = 1;
  readonly traits = {};
  given = 0;
  aborted = false;
  unloaded = false;
  readonly #tokens: number;
  readonly #fails: boolean;

  constructor(tokens: number, fails = false) {
    this.#tokens = tokens;
    this.#fails = fails;
  }

  async *run(_job: ChatJob, signal: AbortSignal): AsyncGenerator<ChatEvent, void, undefined> {
    if (this.#fails) throw engineCrashed('test');
    yield { type: 'accepted', accepted: { promptTokens: 1, fingerprint: this.fingerprint } };
    signal.addEventListener('abort', () => (this.aborted = true));
    for (; this.given < this.#tokens; this.given++) {
      await sleep(0);
      signal.throwIfAborted();
      yield { type: 'delta', delta: { text: 't', tokens: 1 } };
    }
    yield done;
  }

  async unload(): Promise<void> {
    this.unloaded = true;
  }
}

/** The asker holds every lock until it is released. */
class AskersLocks {
  readonly #waiting = new Map<string, () => void>();

  query = (): Promise<LockManagerSnapshot> => Promise.resolve({ held: [], pending: [] });

  request(name: string, { signal }: { signal: AbortSignal }, work: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
      this.#waiting.set(name, () => resolve(work()));
    });
  }

  release(name: string): void {
    this.#waiting.get(name)?.();
  }
}

let ports: MessagePort[] = [];
afterEach(() => {
  for (const port of ports) port.close();
  ports = [];
});

function serve(engines: FakeEngine[]) {
  const locks = new AskersLocks();
  const loads = [...engines];
  const modelManager = createModelManager({
    catalog,
    load: async (_, { onProgress }) => {
      for (const loadedBytes of [1, 2, 3]) onProgress({ phase: 'load', loadedBytes, totalBytes: 9 });
      onProgress({ phase: 'compile', loadedBytes: 0, totalBytes: 9 });
      const engine = loads.shift();
      if (!engine) throw new Error('no engine is left');
      return engine;
    },
  });
  let running = 0;
  let begun = 0;
  const serving = {
    epoch: 'e',
    scope: '/',
    modelManager,
    imageOrigins: [],
    // The only call of a LockManager's that is made here.
    locks: locks as unknown as LockManager,
    weights: weightsService(catalog),
    status: () => ({ epoch: 'e', deviceMemoryBytes: null, models: modelManager.status() }),
    onRequest: () => {
      running++;
      begun++;
      return () => running--;
    },
  };
  const ask = (question: object) => {
    const { port1, port2 } = new MessageChannel();
    ports.push(port1, port2);
    const messages: EngineMessage[] = [];
    port1.onmessage = ({ data }: MessageEvent<EngineMessage>) => messages.push(data);
    servePort(port2, serving);
    port1.postMessage({ version: PROTOCOL_VERSION, id: 'r1', ...question });
    return { messages, port: port1 };
  };
  return { ask, serving, locks, running: () => running, begun: () => begun };
}

const errorOf = (messages: EngineMessage[]) =>
  messages.find((message) => message.type === 'error')?.error.code;
const ended = (messages: EngineMessage[]) =>
  messages.some((message) => message.type === 'event' && message.event.type === 'done');
const deltas = (messages: EngineMessage[]) =>
  messages.filter((message) => message.type === 'event' && message.event.type === 'delta').length;

test('sends what there is credit for, and goes on when more is given', async () => {
  const { ask, running } = serve([new FakeEngine(CREDIT_WINDOW + 8)]);
  const { messages, port } = ask({ type: 'job', job });
  await expect.poll(() => deltas(messages)).toBe(CREDIT_WINDOW);
  await sleep(20);
  expect(deltas(messages)).toBe(CREDIT_WINDOW);
  port.postMessage({ type: 'credit', count: 16 });
  await expect.poll(() => ended(messages)).toBe(true);
  expect(deltas(messages)).toBe(CREDIT_WINDOW + 8);
  expect(messages[0]).toEqual({ type: 'connected', version: PROTOCOL_VERSION, epoch: 'e' });
  expect(running()).toBe(0);
});

test('an asker that cancels, or dies, frees the engine, also while it waits for credit', async () => {
  for (const leave of ['cancel', 'die']) {
    const engine = new FakeEngine(1000);
    const { ask, locks, running } = serve([engine]);
    const { messages, port } = ask({ type: 'job', job });
    await expect.poll(() => deltas(messages)).toBe(CREDIT_WINDOW);
    if (leave === 'cancel') port.postMessage({ type: 'cancel' });
    else locks.release(requestLock('/', 'r1'));
    await expect.poll(() => running()).toBe(0);
    expect(engine.aborted).toBe(true);
  }
});

test('each phase of a load is reported, although the one before it has just been', async () => {
  const { ask } = serve([new FakeEngine(1)]);
  const { messages } = ask({ type: 'load', model: 'm' });
  await expect.poll(() => messages.at(-1)?.type).toBe('loaded');
  const reported = messages.flatMap((message) => (message.type === 'progress' ? [message.progress] : []));
  expect(reported.map(({ phase, loadedBytes }) => [phase, loadedBytes])).toEqual([
    ['load', 1],
    ['compile', 0],
    ['ready', 0],
  ]);
});

test('a question for the status is no change of it: tabs that hear of changes would ask forever', async () => {
  const { ask, begun } = serve([]);
  const { messages } = ask({ type: 'status' });
  await expect.poll(() => messages.some(({ type }) => type === 'status')).toBe(true);
  expect(begun()).toBe(0);
});

test("shows a chat's stages to the browser's profiler, once each, and the load of its model", async () => {
  const measure = vi.spyOn(performance, 'measure');
  const { ask } = serve([new FakeEngine(3)]);
  const { messages } = ask({ type: 'job', job });
  await expect.poll(() => ended(messages)).toBe(true);
  const shown = measure.mock.calls.map(([name, options]) => ({
    name,
    ...(options as PerformanceMeasureOptions),
  }));
  measure.mockRestore();
  expect(shown.map(({ name }) => name)).toEqual(
    ['load', 'queue', 'prefill', 'decode'].map((span) => `localtext ${span}`),
  );
  expect(shown[0]?.detail).toMatchObject({ model: 'v' });
  for (const { detail } of shown.slice(1)) expect(detail).toMatchObject({ requestId: 'r1', model: 'm' });
});

test('a request of another version is refused', async () => {
  const { ask } = serve([]);
  const { messages } = ask({ type: 'status', version: PROTOCOL_VERSION + 1 });
  await expect.poll(() => errorOf(messages)).toBe('protocol_mismatch');
});

test.each<[string, object, EngineMessage['type']]>([
  ['answered', { type: 'status' }, 'status'],
  ['refused', { type: 'job', job: { ...job, model: 'unknown' } }, 'error'],
  ['of another version', { type: 'status', version: PROTOCOL_VERSION + 1 }, 'error'],
])('a channel that stands in for a port is closed when its request is %s', async (_, question, last) => {
  const { serving } = serve([]);
  const name = crypto.randomUUID();
  const channel = new BroadcastChannel(name);
  const asker = new BroadcastChannel(name);
  const close = vi.spyOn(channel, 'close');
  const types: string[] = [];
  asker.onmessage = ({ data }: MessageEvent<EngineMessage>) => types.push(data.type);
  servePort(channel, serving);
  asker.postMessage({ version: PROTOCOL_VERSION, id: 'r1', ...question });
  await expect.poll(() => types.at(-1)).toBe(last);
  await expect.poll(() => close.mock.calls).toHaveLength(1);
  asker.close();
});

test('a crashed engine is dropped, and the next request gets a new one', async () => {
  const broken = new FakeEngine(1, true);
  const { ask } = serve([broken, new FakeEngine(1)]);
  const first = ask({ type: 'job', job });
  await expect.poll(() => errorOf(first.messages)).toBe('engine_crashed');
  expect(broken.unloaded).toBe(true);
  const second = ask({ type: 'job', job, id: 'r2' });
  await expect.poll(() => ended(second.messages)).toBe(true);
});

test.each([
  [undefined, 100],
  [1500, 5],
  [128, 32],
])(
  'a job of %s tokens that is not streamed gives way to one of %s, and keeps what it has',
  async (most, next) => {
    const { ask } = serve([new FakeEngine(CREDIT_WINDOW + 1)]);
    const origin = { client: 'page', request: 'r1', background: true };
    const long = ask({
      type: 'job',
      job: { ...job, ...(most !== undefined && { maxTokens: most }) },
      origin,
    });
    await expect.poll(() => deltas(long.messages)).toBe(CREDIT_WINDOW);
    const short = ask({
      type: 'job',
      id: 'r2',
      job: { ...job, maxTokens: next },
      origin: { ...origin, request: 'r2' },
    });
    await expect.poll(() => ended(short.messages)).toBe(true);
    expect(long.messages.at(-1)).toEqual({ type: 'paused' });
    expect(deltas(long.messages)).toBe(CREDIT_WINDOW);
  },
);

test.each([
  ['with log probabilities', { ...job, topLogprobs: 2 }],
  ['with a grammar', { ...job, constraint: { kind: 'grammar', gbnf: 'root ::= "t"*' } }],
])('a stream %s that nobody reads gives way after 30 s, and only where another waits', async (_, unread) => {
  const { ask } = serve([new FakeEngine(CREDIT_WINDOW + 1)]);
  const origin = { client: 'blocked', request: 'r1' };
  const { messages } = ask({ type: 'job', job: unread, origin });
  await expect.poll(() => deltas(messages)).toBe(CREDIT_WINDOW);
  await sleep(60_000);
  expect(messages.at(-1)?.type).toBe('event');
  const next = ask({
    type: 'job',
    id: 'r2',
    job: { ...job, maxTokens: 9 },
    origin: { client: 'p', request: 'r2' },
  });
  await sleep(20_000);
  expect(messages.at(-1)?.type).toBe('event');
  await sleep(11_000);
  expect(messages.at(-1)).toEqual({ type: 'paused' });
  await expect.poll(() => ended(next.messages)).toBe(true);
});

test('a stream with log probabilities that is read slowly keeps its slot', async () => {
  const { ask } = serve([new FakeEngine(CREDIT_WINDOW + 3)]);
  const origin = { client: 'slow', request: 'r1' };
  const { messages, port } = ask({ type: 'job', job: { ...job, topLogprobs: 2 }, origin });
  await expect.poll(() => deltas(messages)).toBe(CREDIT_WINDOW);
  const next = ask({ type: 'job', id: 'r2', job, origin: { client: 'page', request: 'r2' } });
  for (let count = 0; count < 3; count++) {
    await sleep(25_000);
    port.postMessage({ type: 'credit', count: 1 });
  }
  await expect.poll(() => ended(messages)).toBe(true);
  await expect.poll(() => ended(next.messages)).toBe(true);
});

/** Holds as many messages as it says. */
class SmallEngine extends FakeEngine {
  readonly tried: number[] = [];

  override async *run(asked: ChatJob, signal: AbortSignal): AsyncGenerator<ChatEvent, void, undefined> {
    const count = 'messages' in asked.input ? asked.input.messages.length : 0;
    this.tried.push(count);
    if (count > 3) throw contextLengthExceeded(count * 100, 300);
    yield* super.run(asked, signal);
  }
}

const conversation = (turns: number): ChatJob => ({
  ...job,
  input: { messages: Array.from({ length: turns }, () => ({ role: 'user', content: 'x'.repeat(100) })) },
});

test('a conversation that does not fit is tried without its oldest turns, where the job asks for it', async () => {
  const engine = new SmallEngine(1);
  const { ask } = serve([engine]);
  const refused = ask({ type: 'job', job: conversation(9) });
  await expect.poll(() => errorOf(refused.messages)).toBe('context_length_exceeded');
  const { messages } = ask({ type: 'job', job: { ...conversation(9), truncate: true } });
  await expect.poll(() => ended(messages)).toBe(true);
  expect(engine.tried.slice(0, 2)).toEqual([9, 9]);
  expect(engine.tried.length).toBeLessThan(5);
  expect(engine.tried.at(-1)).toBeLessThanOrEqual(3);
});
