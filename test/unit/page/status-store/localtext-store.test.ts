import { expect, test, vi } from 'vitest';

import type { Localtext, LocaltextStatus } from '../../../../src/page/localtext.ts';
import type { ModelStatus } from '../../../../src/protocol/status.ts';
import { createStore } from '../../../../src/page/status-store/index.ts';
import { INITIAL_MODEL } from '../../../../src/page/status-store/state.ts';

const idle: ModelStatus = {
  id: 'owl',
  kind: 'chat',
  state: 'idle',
  fingerprint: null,
  progress: null,
  queued: 0,
  running: 0,
  error: null,
  reasons: [{ variant: 'far', engine: 'upstream', chosen: true, reason: 'the first' }],
};

/** A page's handle whose models are set by the test. */
class FakeLocaltext extends EventTarget {
  readonly #stop = new AbortController();
  readonly stopped = this.#stop.signal;
  models: ModelStatus[] = [idle];
  epoch = 'e';
  readonly ready = vi.fn((_id: string, _options?: { signal?: AbortSignal }) => Promise.resolve());
  readonly status = vi.fn(() => Promise.resolve({ epoch: this.epoch, models: this.models }));

  report(model: Partial<ModelStatus>): void {
    this.models = [{ ...idle, ...model }];
    this.dispatchEvent(new Event('status'));
  }

  stop(): void {
    this.#stop.abort();
  }
}

function setUp() {
  const fake = new FakeLocaltext();
  const start = vi.fn(() => Promise.resolve(fake as unknown as Localtext));
  return { fake, start, store: createStore(start) };
}

test('nothing starts before it is used, and every subscription shares one start', async () => {
  const { start, store } = setUp();
  expect(store.getState()).toEqual({ localtext: null, status: null, error: null });
  expect(store.getModel('owl')).toEqual(INITIAL_MODEL);
  expect(start).not.toHaveBeenCalled();
  store.subscribe(() => undefined);
  store.subscribe(() => undefined);
  await vi.waitFor(() => expect(store.getModel('owl').state).toBe('idle'));
  expect(start).toHaveBeenCalledOnce();
});

test('why no engine starts is shown until one does', async () => {
  const { fake, store } = setUp();
  fake.status.mockRejectedValueOnce(new Error('blocked'));
  store.subscribe(() => undefined);
  const failed = { state: 'failed', error: { message: 'blocked' } };
  await vi.waitFor(() => expect(store.getModel('owl')).toMatchObject(failed));
  fake.report({});
  await vi.waitFor(() => expect(store.getModel('owl').state).toBe('idle'));
});

test('a load is not offered before the engine knows its size', async () => {
  const { fake, store } = setUp();
  const reasons = [{ variant: 'gguf', engine: 'wllama', chosen: true, reason: 'the first' }] as const;
  fake.models = [{ ...idle, reasons: [] }];
  store.subscribe(() => undefined);
  await vi.waitFor(() => expect(store.getState().status).not.toBe(null));
  expect(store.getModel('owl').state).toBe('starting');
  fake.report({ reasons: [...reasons] });
  await vi.waitFor(() => expect(store.getState().status?.models[0]?.reasons).toHaveLength(1));
  expect(store.getModel('owl').state).toBe('starting');
  fake.report({
    reasons: [...reasons],
    estimates: { gguf: { memoryBytes: 9, promptStateBytes: 0, downloadBytes: 5 } },
  });
  await vi.waitFor(() => expect(store.getModel('owl')).toMatchObject({ state: 'idle', downloadBytes: 5 }));
});

test('listeners hear of a load, with its progress, until they unsubscribe', async () => {
  const { fake, store } = setUp();
  const seen: string[] = [];
  const listener = (): void => {
    const { state, progress } = store.getModel('owl');
    seen.push(progress ? `${state} ${progress.loadedBytes}` : state);
  };
  const unsubscribe = store.subscribe(listener);
  const other = store.subscribe(listener);
  await vi.waitFor(() => expect(seen).toContain('idle'));
  other();
  seen.length = 0;
  fake.report({
    state: 'loading',
    progress: { model: 'owl', phase: 'download', loadedBytes: 5, totalBytes: 9 },
  });
  await vi.waitFor(() => expect(seen).toEqual(['loading 5']));
  fake.report({ state: 'ready' });
  await vi.waitFor(() => expect(seen).toEqual(['loading 5', 'ready']));
  unsubscribe();
  fake.report({ state: 'failed', error: 'lost' });
  await vi.waitFor(() => expect(store.getModel('owl').state).toBe('failed'));
  expect(seen).toEqual(['loading 5', 'ready']);
});

test('what did not change is the same object', async () => {
  const { fake, store } = setUp();
  store.subscribe(() => undefined);
  await vi.waitFor(() => expect(store.getModel('owl').state).toBe('idle'));
  const [state, model] = [store.getState(), store.getModel('owl')];
  expect(store.getState()).toBe(state);
  fake.report({ queued: 3 });
  await vi.waitFor(() => expect(store.getState()).not.toBe(state));
  expect(store.getModel('owl')).toBe(model);
});

test('a slow status is not overtaken, and the last event is heard', async () => {
  const { fake, store } = setUp();
  store.subscribe(() => undefined);
  await vi.waitFor(() => expect(store.getModel('owl').state).toBe('idle'));
  let answer = (_status: LocaltextStatus): void => undefined;
  fake.status.mockImplementationOnce(() => new Promise<LocaltextStatus>((resolve) => (answer = resolve)));
  fake.report({ state: 'loading' });
  await vi.waitFor(() => expect(fake.status).toHaveBeenCalledTimes(2));
  fake.report({ state: 'ready' });
  answer({ epoch: 'e', models: [{ ...idle, state: 'loading' }] } as LocaltextStatus);
  await vi.waitFor(() => expect(store.getModel('owl').state).toBe('ready'));
  expect(fake.status).toHaveBeenCalledTimes(3);
});

test('load: loading at once, one call for several, and its error in the state', async () => {
  const { fake, store } = setUp();
  fake.ready.mockImplementationOnce(() => Promise.reject(new Error('No engine answers.')));
  const loads = [store.load('owl'), store.load('owl')];
  expect(store.getModel('owl').state).toBe('loading');
  await Promise.all(loads);
  expect(fake.ready).toHaveBeenCalledOnce();
  expect(store.getModel('owl')).toMatchObject({ state: 'failed', error: new Error('No engine answers.') });
  await store.load('owl');
  expect(fake.ready).toHaveBeenCalledTimes(2);
  expect(store.getModel('owl').error).toBeNull();
});

test('a start that fails is said for every model, and the next load starts again', async () => {
  const { start, store } = setUp();
  const blocked = new Error('The service worker is blocked.');
  start.mockImplementationOnce(() => Promise.reject(blocked));
  store.subscribe(() => undefined);
  await vi.waitFor(() => expect(store.getState().error).toBe(blocked));
  expect(store.getModel('owl')).toMatchObject({ state: 'failed', error: blocked });
  await store.load('owl');
  expect(start).toHaveBeenCalledTimes(2);
  await vi.waitFor(() => expect(store.getModel('owl')).toMatchObject({ state: 'idle', error: null }));
});

test('a page that was stopped has no handle, and follows the next one', async () => {
  const { fake, start, store } = setUp();
  store.subscribe(() => undefined);
  await vi.waitFor(() => expect(store.getModel('owl').state).toBe('idle'));
  fake.stop();
  expect(store.getState()).toEqual({ localtext: null, status: null, error: null });
  const next = new FakeLocaltext();
  next.models = [{ ...idle, state: 'ready' }];
  start.mockImplementationOnce(() => Promise.resolve(next as unknown as Localtext));
  await store.load('owl');
  await vi.waitFor(() => expect(store.getModel('owl').state).toBe('ready'));
});

test('no engine yet is starting; an id that is not listed is named with those that are', async () => {
  const { fake, store } = setUp();
  fake.epoch = '';
  store.subscribe(() => undefined);
  await vi.waitFor(() => expect(store.getState().status).not.toBeNull());
  expect(store.getModel('owl').state).toBe('starting');
  fake.epoch = 'e';
  fake.report({});
  await vi.waitFor(() =>
    expect(store.getModel('wol')).toMatchObject({
      state: 'failed',
      error: new Error('There is no model "wol". Models: owl. `start({ catalog })` adds others.'),
    }),
  );
});

test('a load that has ended is seen when its promise resolves, and has no progress any more', async () => {
  const { fake, store } = setUp();
  store.subscribe(() => undefined);
  await vi.waitFor(() => expect(store.getModel('owl').state).toBe('idle'));
  const progress = { model: 'owl', phase: 'download', loadedBytes: 9, totalBytes: 9 } as const;
  fake.report({ state: 'loading', progress });
  await vi.waitFor(() => expect(store.getModel('owl').progress).toEqual(progress));
  fake.models = [{ ...idle, state: 'ready', progress: { ...progress, phase: 'ready' } }];
  await store.load('owl');
  expect(store.getModel('owl')).toMatchObject({ state: 'ready', progress: null, secondsLeft: null });
});

const chosen = { variant: 'owl-q8', engine: 'wllama', chosen: true, reason: 'the first' };
const estimate = { memoryBytes: 1, promptStateBytes: 0, downloadBytes: 98_000_000, downloadSeconds: 40 };

test('before a load: the download of the chosen variant; during one: the time that its speed leaves', async () => {
  const { fake, store } = setUp();
  fake.models = [{ ...idle, reasons: [chosen], estimates: { 'owl-q8': estimate } }];
  store.subscribe(() => undefined);
  await vi.waitFor(() =>
    expect(store.getModel('owl')).toMatchObject({ downloadBytes: 98_000_000, secondsLeft: 40 }),
  );
  const progress = { model: 'owl', phase: 'download', loadedBytes: 20, totalBytes: 80 } as const;
  fake.report({ state: 'loading', progress });
  await vi.waitFor(() => expect(store.getModel('owl')).toMatchObject({ progress, secondsLeft: null }));
  fake.report({ state: 'loading', progress: { ...progress, bytesPerSecond: 7 } });
  await vi.waitFor(() => expect(store.getModel('owl').secondsLeft).toBe(9));
});

test('cancel: the load ends without an error, and the next one is another', async () => {
  const { fake, store } = setUp();
  const aborted = vi.fn();
  fake.ready.mockImplementation(
    (_id, { signal } = {}) =>
      new Promise((_resolve, reject) =>
        signal?.addEventListener('abort', () => {
          aborted();
          reject(signal.reason as Error);
        }),
      ),
  );
  store.subscribe(() => undefined);
  const load = store.load('owl');
  await vi.waitFor(() => expect(fake.ready).toHaveBeenCalledOnce());
  store.cancel('owl');
  await load;
  expect(aborted).toHaveBeenCalledOnce();
  expect(store.getModel('owl')).toMatchObject({ state: 'idle', error: null });
  void store.load('owl');
  expect(store.getModel('owl').state).toBe('loading');
  await vi.waitFor(() => expect(fake.ready).toHaveBeenCalledTimes(2));
});
