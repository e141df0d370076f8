import { expect, test, vi } from 'vitest';

import type { Localtext } from '../../../../src/page/localtext.ts';
import { createStore, showUpdate } from '../../../../src/page/status-store/index.ts';

/** An element as far as showUpdate() uses one. */
class FakeElement extends EventTarget {
  textContent = '';
  children: FakeElement[] = [];
  contains(child: FakeElement): boolean {
    return this.children.includes(child);
  }
  replaceChildren(...children: FakeElement[]): void {
    this.children = children;
  }
}

class FakeLocaltext extends EventTarget {
  readonly stopped = new AbortController().signal;
  readonly update = vi.fn(() => Promise.resolve());
  updateWaiting = false;
  async status() {
    return { epoch: 'e', models: [], updateWaiting: this.updateWaiting };
  }
}

function setUp() {
  const reload = vi.fn();
  vi.stubGlobal('document', { createElement: () => new FakeElement() });
  vi.stubGlobal('location', { reload });
  const fake = new FakeLocaltext();
  const store = createStore(() => Promise.resolve(fake as unknown as Localtext));
  const element = new FakeElement();
  const leave = new AbortController();
  showUpdate(store, element as unknown as Element, { signal: leave.signal });
  const waits = async (): Promise<void> => {
    await vi.waitFor(() => expect(store.getState().status).not.toBe(null));
    fake.updateWaiting = true;
    fake.dispatchEvent(new Event('status'));
    await vi.waitFor(() => expect(element.children).toHaveLength(2));
  };
  return { fake, element, reload, leave, waits };
}

test('a new build is said once it waits, and a click switches to it and reloads', async () => {
  const { fake, element, reload, waits } = setUp();
  expect(element.children).toEqual([]);
  await waits();
  const [text, button] = element.children;
  expect([text?.textContent, button?.textContent]).toEqual(['A new version is ready.', 'Reload']);
  button?.dispatchEvent(new Event('click'));
  button?.dispatchEvent(new Event('click'));
  expect(text?.textContent).toBe('The new version starts when the running requests end…');
  await vi.waitFor(() => expect(reload).toHaveBeenCalledOnce());
  expect(fake.update).toHaveBeenCalledOnce();
});

test('an update that fails is said, and can be tried again', async () => {
  const { fake, element, reload, waits } = setUp();
  fake.update.mockRejectedValueOnce(new Error('Requests are running.'));
  await waits();
  const [text, button] = element.children;
  button?.dispatchEvent(new Event('click'));
  await vi.waitFor(() => expect(text?.textContent).toBe('Requests are running.'));
  button?.dispatchEvent(new Event('click'));
  await vi.waitFor(() => expect(reload).toHaveBeenCalledOnce());
});

test('an aborted signal empties the element', async () => {
  const { element, leave, waits } = setUp();
  await waits();
  leave.abort();
  expect(element.children).toEqual([]);
});
