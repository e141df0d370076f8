import { beforeEach, expect, test, vi } from 'vitest';

import { register } from '../../../src/page/registration.ts';
import { takeControl } from '../../../src/page/take-control.ts';
import { applyUpdate, tellServiceWorker } from '../../../src/page/update.ts';
import { PROTOCOL_VERSION } from '../../../src/protocol/version.ts';

const PAGE = 'https://site.example/app/';

class FakeWorker extends EventTarget {
  readonly scriptURL: string;
  state = 'installing';
  replies: unknown[] = [];

  constructor(name = 'localtext-sw.js') {
    super();
    this.scriptURL = PAGE + name;
  }

  become(state: string): void {
    this.state = state;
    this.dispatchEvent(new Event('statechange'));
  }

  postMessage(_message: unknown, [port]: MessagePort[]): void {
    for (const reply of this.replies) port?.postMessage(reply);
  }
}

class FakeRegistration extends EventTarget {
  scope = PAGE;
  active: FakeWorker | null = null;
  waiting: FakeWorker | null = null;
  installing: FakeWorker | null = null;
}

class FakeContainer extends EventTarget {
  controller: FakeWorker | null = null;
  readonly calls: unknown[][] = [];
  readonly registration = new FakeRegistration();

  getRegistration(): Promise<FakeRegistration> {
    return Promise.resolve(this.registration);
  }

  register(...call: unknown[]): Promise<FakeRegistration> {
    this.calls.push(call);
    return Promise.resolve(this.registration);
  }
}

let container: FakeContainer;

beforeEach(() => {
  container = new FakeContainer();
  vi.stubGlobal('navigator', { serviceWorker: container });
  vi.stubGlobal('ServiceWorkerRegistration', FakeRegistration);
  vi.stubGlobal('document', { baseURI: PAGE });
  vi.stubGlobal('location', new URL(PAGE));
  vi.stubGlobal('self', globalThis);
  vi.useFakeTimers();
});

/** An update that begins to install now and waits then. */
function update(registration: FakeRegistration): void {
  const worker = new FakeWorker();
  registration.installing = worker;
  registration.dispatchEvent(new Event('updatefound'));
  registration.installing = null;
  registration.waiting = worker;
  worker.become('installed');
}

test('the script is asked for past the browser cache, and with the scope that the site names', async () => {
  await register({ base: '/app/' }, () => {});
  await register(
    { serviceWorker: { url: '/sw.js', scope: '/app/' }, isolation: ['/app/', './chat'] },
    () => {},
  );
  expect(container.calls).toEqual([
    [`${PAGE}localtext-sw.js`, { updateViaCache: 'none' }],
    [
      'https://site.example/sw.js?isolation=%2Fapp%2F&isolation=.%2Fchat',
      { updateViaCache: 'none', scope: '/app/' },
    ],
  ]);
});

test('a page that the script controls does not wait for the browser to look at it again', async () => {
  const { registration } = container;
  vi.spyOn(container, 'register').mockReturnValue(new Promise(() => undefined));
  registration.active = container.controller = new FakeWorker();
  expect(await register({ base: '/app/' }, () => {})).toBe(registration);
});

test.each(['own script', 'registration of the site'])(
  '%s: one call for each version that waits',
  async (whose) => {
    const { registration } = container;
    registration.active = container.controller = new FakeWorker();
    const given = registration as unknown as ServiceWorkerRegistration;
    const onWaiting = vi.fn<() => void>();
    await register(whose === 'own script' ? { base: '/app/' } : { serviceWorker: given }, onWaiting);
    expect(container.calls).toHaveLength(whose === 'own script' ? 1 : 0);
    expect(onWaiting).not.toHaveBeenCalled();
    for (let versions = 1; versions <= 3; versions++) {
      update(registration);
      await vi.advanceTimersByTimeAsync(90_000);
      expect(onWaiting).toHaveBeenCalledTimes(versions);
    }
  },
);

test('a version that begins to install before the browser tells of it is told once', async () => {
  const { registration } = container;
  registration.active = container.controller = new FakeWorker();
  const worker = (registration.installing = new FakeWorker());
  const onWaiting = vi.fn<() => void>();
  await register({ base: '/app/' }, onWaiting);
  registration.dispatchEvent(new Event('updatefound'));
  registration.installing = null;
  registration.waiting = worker;
  worker.become('installed');
  expect(onWaiting).toHaveBeenCalledTimes(1);
});

test.each(['own script', 'registration of the site'])(
  '%s: a version that waited before is told',
  async (whose) => {
    const { registration } = container;
    registration.active = container.controller = new FakeWorker();
    registration.waiting = new FakeWorker();
    const given = registration as unknown as ServiceWorkerRegistration;
    const onWaiting = vi.fn<() => void>();
    await register(whose === 'own script' ? { base: '/app/' } : { serviceWorker: given }, onWaiting);
    await vi.advanceTimersByTimeAsync(1000);
    expect(onWaiting).toHaveBeenCalledTimes(1);
  },
);

test('a service worker that does not answer is an error after 10 s', async () => {
  const told = tellServiceWorker(new FakeWorker() as unknown as ServiceWorker, { type: 'localtext:claim' });
  const failed = expect(told).rejects.toMatchObject({ code: 'service_worker_failed' });
  await vi.advanceTimersByTimeAsync(10_000);
  await failed;
});

test.each([
  [{ type: 'ok', version: 0 }, 'protocol_mismatch'],
  [{ type: 'error', version: 0, error: { code: 'requests_running', message: '' } }, 'protocol_mismatch'],
])('an answer of another version is a mismatch: %o', async (reply, code) => {
  vi.useRealTimers();
  const worker = new FakeWorker();
  worker.replies = [reply];
  const told = tellServiceWorker(worker as unknown as ServiceWorker, { type: 'localtext:version' });
  await expect(told).rejects.toMatchObject({ code });
});

test('requests that keep the version of a page waiting: start() says to reload', async () => {
  const { registration } = container;
  registration.active = container.controller = new FakeWorker();
  registration.active.replies = [{ type: 'ok', version: 0 }];
  const waiting = (registration.waiting = new FakeWorker());
  waiting.become('installed');
  const query = async (): Promise<object> => ({ held: [{ name: 'localtext/app/:request:1' }] });
  vi.stubGlobal('navigator', { serviceWorker: container, locks: { query } });
  vi.spyOn(AbortSignal, 'timeout').mockReturnValue(AbortSignal.abort(new DOMException('', 'TimeoutError')));
  const page = Object.assign(registration, { update: () => Promise.resolve() });
  vi.useRealTimers();
  await expect(takeControl(page as unknown as ServiceWorkerRegistration)).rejects.toMatchObject({
    code: 'protocol_mismatch',
  });
});

const foreign = {
  code: 'service_worker_foreign',
  message: expect.stringMatching(/\/app\/sw\.js.*unregister/),
};

test.each(['active', 'waiting'] as const)(
  'another script that is %s on the scope is named',
  async (state) => {
    const { registration } = container;
    registration.active = new FakeWorker();
    registration[state] = new FakeWorker('sw.js');
    await expect(register({ base: '/app/' }, () => {})).rejects.toMatchObject(foreign);
    expect(container.calls).toEqual([]);
    const given = registration as unknown as ServiceWorkerRegistration;
    await register({ serviceWorker: given }, () => {});
  },
);

test("another script is no fault on a wider scope, nor where the site's own replaces localtext's", async () => {
  const { registration } = container;
  registration.active = new FakeWorker();
  await register({ serviceWorker: { url: '/app/sw.js' } }, () => {});
  registration.active = new FakeWorker('sw.js');
  registration.scope = 'https://site.example/';
  await register({ base: '/app/' }, () => {});
  expect(container.calls).toHaveLength(2);
});

test('a sandboxed frame, which has no service workers, gets an error that suggests site data and createFetch()', async () => {
  const get = (): never => {
    throw new DOMException('sandboxed', 'SecurityError');
  };
  vi.stubGlobal('navigator', Object.defineProperty({}, 'serviceWorker', { get }));
  await expect(register({ base: '/app/' }, () => {})).rejects.toMatchObject({
    name: 'LocaltextError',
    code: 'service_worker_blocked',
    message: expect.stringContaining('Allow cookies and site data') as string,
  });
});

test.each(['is replaced by a newer one', 'does not answer, having been replaced'])(
  'a waiting version that %s: the newer one takes over',
  async (how) => {
    vi.useRealTimers();
    let running = how.startsWith('is');
    const query = vi.fn<() => Promise<object>>(async () => ({
      held: running ? [{ name: 'localtext/app/:request:1' }] : [],
    }));
    vi.stubGlobal('navigator', { serviceWorker: container, locks: { query } });
    const { registration } = container;
    const [first, newer] = [new FakeWorker(), new FakeWorker()];
    registration.waiting = first;
    const told = vi.spyOn(first, 'postMessage');
    newer.replies = [{ type: 'ok', version: PROTOCOL_VERSION }];
    vi.spyOn(newer, 'postMessage').mockImplementation(function (this: FakeWorker, _message, [port]) {
      for (const reply of this.replies) port?.postMessage(reply);
      this.become('activated');
    });
    const updated = applyUpdate(
      registration as unknown as ServiceWorkerRegistration,
      AbortSignal.timeout(5000),
    );
    await expect.poll(() => (running ? query : told).mock.calls).toHaveLength(1);
    registration.waiting = newer;
    first.become('redundant');
    running = false;
    expect(await updated).toBe(true);
    expect(newer.state).toBe('activated');
  },
);

test('a script that the site registers later is reported', async () => {
  const error = vi.spyOn(console, 'error').mockReturnValue();
  const { registration } = container;
  registration.active = new FakeWorker();
  await register({ base: '/app/' }, () => {});
  registration.installing = new FakeWorker('sw.js');
  registration.dispatchEvent(new Event('updatefound'));
  await vi.waitFor(() => expect(error).toHaveBeenCalledWith(foreign.message));
});

test(
  'a page outside the scope is told so within five seconds, with both addresses',
  { timeout: 5000 },
  async () => {
    vi.stubGlobal('location', new URL('https://site.example/app'));
    const { registration } = container;
    const worker = (registration.active = new FakeWorker());
    worker.replies = [{ type: 'ok', version: PROTOCOL_VERSION }];
    vi.useRealTimers();
    const failure = takeControl(registration as unknown as ServiceWorkerRegistration);
    await expect(failure).rejects.toMatchObject({
      code: 'service_worker_no_control',
      message: expect.stringMatching(
        /^This page, https:\/\/site\.example\/app, is outside .* https:\/\/site\.example\/app\/\. Redirect.*; or serve the folder of localtext-sw\.js/,
      ) as string,
    });
  },
);

test.each([
  ['A bad HTTP response code (404) was received when fetching the script.', 'service_worker_not_found'],
  ['A bad HTTP response code (503) was received when fetching the script.', 'service_worker_failed'],
  ['An unknown error occurred when fetching the script.', 'service_worker_failed'],
])('at port 4040 or below /404/: %s', async (reason, code) => {
  const text = `Failed to register a ServiceWorker for scope ('http://localhost:4040/404/') with script ('http://localhost:4040/404/sw.js'): ${reason}`;
  vi.spyOn(container, 'register').mockRejectedValue(new TypeError(text));
  await expect(register({ base: '/app/' }, () => {})).rejects.toMatchObject({ code });
});
