import { expect, onTestFinished, test, vi } from 'vitest';

import type { Localtext } from '../../../../src/page/localtext.ts';
import { createStore, showModel } from '../../../../src/page/status-store/index.ts';

/** An element as far as showModel() uses one. */
class FakeElement extends EventTarget {
  textContent = '';
  parentElement: FakeElement | null = null;
  readonly children = new Set<FakeElement>();
  insertBefore(child: FakeElement): void {
    child.parentElement = this;
    this.children.add(child);
  }
  remove(): void {
    this.parentElement?.children.delete(this);
    this.parentElement = null;
  }
  removeAttribute(): void {}
}

/** A page whose engine has one model, loaded by `ready()`. */
class FakeLocaltext extends EventTarget {
  readonly stopped = new AbortController().signal;
  /** Resolves when the page has read the report. */
  readonly ready = vi.fn(async () => {
    this.report('ready', 0);
    await new Promise(setImmediate);
  });
  #model = { state: 'idle', downloadBytes: 98e6, progress: null as object | null };

  async status() {
    const { downloadBytes, ...reported } = this.#model;
    const estimates = { gguf: { downloadBytes } };
    const model = { id: 'owl', ...reported, error: null, estimates };
    return { epoch: 'e', models: [{ ...model, reasons: [{ variant: 'gguf', chosen: true }] }] };
  }

  report(state: string, downloadBytes: number, progress: object | null = null): void {
    this.#model = { state, downloadBytes, progress };
    this.dispatchEvent(new Event('status'));
  }
}

function setUp(options: { ask?: boolean } = {}) {
  vi.stubGlobal('document', { createElement: () => new FakeElement() });
  const fake = new FakeLocaltext();
  const store = createStore(() => Promise.resolve(fake as unknown as Localtext));
  const element = new FakeElement();
  const shown = showModel(store, 'owl', element as unknown as Element, options);
  const button = (label: string) => [...element.children].find(({ textContent }) => textContent === label);
  const press = (label: string) =>
    vi.waitFor(() => {
      const found = button(label);
      expect(found).toBeDefined();
      found?.dispatchEvent(new Event('click'));
    });
  return { fake, shown, button, press };
}

test('a download without new bytes waits for the connection', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { fake, button } = setUp();
  fake.ready.mockReturnValue(new Promise(() => undefined));
  for (const loadedBytes of [20e6, 21e6]) {
    const progress = { phase: 'download', loadedBytes, totalBytes: 98e6, bytesPerSecond: 1e6 };
    fake.report('loading', 98e6, progress);
    const bytes = `${loadedBytes / 1e6} MB of 98 MB`;
    await vi.waitFor(() => expect(button(`${bytes}, about ${98 - loadedBytes / 1e6} s`)).toBeDefined());
    vi.advanceTimersByTime(5000);
    expect(button(`${bytes}, paused or waiting for the connection`)).toBeDefined();
  }
  const hashing = { phase: 'download', loadedBytes: 98e6, totalBytes: 98e6, bytesPerSecond: null };
  fake.report('loading', 98e6, hashing);
  await vi.waitFor(() => expect(button('98 MB of 98 MB')).toBeDefined());
  vi.advanceTimersByTime(5000);
  expect(button('98 MB of 98 MB')).toBeDefined();
});

test('with a signal that is aborted already nothing starts, and the reason is thrown', async () => {
  vi.stubGlobal('document', { createElement: () => new EventTarget() });
  const start = vi.fn<() => Promise<never>>();
  const reason = new Error('the visitor has left');
  const shown = showModel(createStore(start), 'owl', new EventTarget() as Element, {
    signal: AbortSignal.abort(reason),
  });
  await expect(shown).rejects.toBe(reason);
  expect(start).not.toHaveBeenCalled();
});

test.each([
  ['deleted', 98e6, 'Download'],
  ['unloaded for another model', 0, 'Load'],
])('a model that was ready and is %s is loaded again only by a click', async (_how, left, label) => {
  for (const ask of [true, false]) {
    const { fake, shown, button, press } = setUp({ ask });
    if (ask) await press('Download');
    await shown;
    expect(fake.ready).toHaveBeenCalledOnce();
    fake.report('idle', left);
    await vi.waitFor(() => expect(button(label)).toBeDefined());
    expect(fake.ready).toHaveBeenCalledOnce();
    await press(label);
    await vi.waitFor(() => expect(fake.ready).toHaveBeenCalledTimes(2));
  }
});
