import { beforeEach, expect, test, vi } from 'vitest';

import { defaultCatalog } from '../../../../src/catalog/default-catalog.ts';
import { whenStuck } from '../../../../src/base/when-stuck.ts';
import { spawnEngineWorker, type EngineSettings } from '../../../../src/page/election/engine-worker.ts';
import { FakeLocks } from '../../../support/fake-locks.ts';
import { sleep } from '../../../support/virtual-time.ts';

beforeEach(() => void vi.useFakeTimers());

const never = (): Promise<void> => new Promise(() => undefined);

const refuses = (): Promise<void> => Promise.reject(new Error('no function'));
const answers = (): Promise<void> => Promise.resolve();

test.each([
  ['misses two pings in a row, and not yet,', [never, never], 39_000, false],
  ['misses two pings in a row,', [never, never], 41_000, true],
  ['answers', [], 200_000, false],
  ['misses one, and answers the next,', [never, answers, never], 200_000, false],
  ['refuses the call', [refuses, refuses], 200_000, false],
])('a worker that %s is stuck or not', async (_, rest, milliseconds, isStuck) => {
  const stop = new AbortController();
  const stuck = vi.fn();
  const watching = whenStuck(() => (rest.shift() ?? answers)(), stop.signal).then(stuck, () => undefined);
  await vi.advanceTimersByTimeAsync(milliseconds);
  stop.abort();
  await watching;
  expect(stuck).toHaveBeenCalledTimes(isStuck ? 1 : 0);
});

/** A page whose workers fail as soon as they are told to start, and whose server answers nothing. */
function failingPage(refusal?: string) {
  const asked: string[] = [];
  const ended: EventTarget[] = [];
  class FailingWorker extends EventTarget {
    // Comlink releases its proxy, whenever that is collected, without ports.
    postMessage({ id }: { id: string }, ports?: MessagePort[]): void {
      if (!ports) return;
      const value = { isError: true, value: { name: 'TypeError', message: refusal } };
      const data = { id, type: 'HANDLER', name: 'throw', value };
      if (refusal) this.dispatchEvent(new MessageEvent('message', { data }));
      for (const port of ports) port.close();
      void sleep(100).then(() => this.dispatchEvent(new Event('error')));
    }
    terminate(): void {
      ended.push(this);
    }
  }
  vi.stubGlobal('Worker', FailingWorker);
  vi.stubGlobal('ErrorEvent', class extends Event {});
  vi.stubGlobal('addEventListener', () => undefined);
  vi.stubGlobal('location', { href: 'https://site.example/' });
  vi.stubGlobal('navigator', { locks: new FakeLocks().manager });
  vi.stubGlobal(
    'document',
    Object.assign(new EventTarget(), { querySelector: () => ({ content: 'this build' }) }),
  );
  vi.stubGlobal('fetch', (url: string, { signal }: RequestInit) => {
    asked.push(url);
    return new Promise((_, reject) =>
      signal?.addEventListener('abort', () => reject(signal.reason as Error)),
    );
  });
  // Fake timers leave the browser's own alone.
  vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
    const late = new AbortController();
    void sleep(ms).then(() => late.abort(new DOMException('late', 'TimeoutError')));
    return late.signal;
  });
  return { asked, ended };
}

/** How a start ends whose tab leaves after so many milliseconds: its error's code or message, and when. */
async function startAndLeave(milliseconds: number): Promise<{ error: unknown; after: number }> {
  const leave = new AbortController();
  const settings = { catalog: defaultCatalog, workerUrl: '/worker.js', sources: {} } as EngineSettings;
  const began = Date.now();
  void sleep(milliseconds).then(() => leave.abort(new Error('left')));
  let end: { error: unknown; after: number } | undefined;
  void spawnEngineWorker('/', settings, leave.signal).catch((error: unknown) => {
    end = { error, after: Date.now() - began };
  });
  await vi.dynamicImportSettled();
  await vi.advanceTimersByTimeAsync(60_000);
  if (!end) throw new Error('it has not ended in a minute');
  return end;
}

test('a worker that does not start, where the server does not answer, is an error after seconds', async () => {
  const { asked, ended } = failingPage();
  const { error, after } = await startAndLeave(50_000);
  expect(error).toMatchObject({ wire: { code: 'worker_blocked' } });
  expect(after).toBeLessThan(10_000);
  expect(asked).toEqual(['https://site.example/']);
  expect(ended).toHaveLength(1);
});

test.each([
  [2, { 'cross-origin-embedder-policy': 'require-corp' }],
  [1, undefined],
])(
  'an isolated page starts it %i times where the host sends its script with the headers %o',
  async (starts, headers) => {
    const { ended } = failingPage();
    vi.stubGlobal('crossOriginIsolated', true);
    const asked: unknown[] = [];
    vi.stubGlobal('fetch', async (url: string, { cache }: RequestInit) => {
      asked.push([url, cache]);
      return new Response('', headers && { headers });
    });
    const { error } = await startAndLeave(50_000);
    expect(error).toMatchObject({ wire: { code: 'worker_blocked' } });
    expect(ended).toHaveLength(starts);
    expect(asked).toContainEqual(['/worker.js', 'reload']);
  },
);

test('a worker whose server no longer has the engine’s script is told as a new build', async () => {
  failingPage('Failed to fetch dynamically imported module');
  expect((await startAndLeave(50_000)).error).toMatchObject({ code: 'build_replaced' });
});

test('a tab that leaves waits neither for its worker nor for the server', async () => {
  const { asked, ended } = failingPage();
  expect(await startAndLeave(50)).toEqual({ error: new Error('left'), after: 50 });
  expect(asked).toEqual([]);
  expect((await startAndLeave(1000)).after).toBe(1000);
  expect(asked).toHaveLength(1);
  expect(ended).toHaveLength(2);
});

test('a worker of another origin, whose constructor throws, leaves no listener behind', async () => {
  failingPage();
  vi.stubGlobal('Worker', function ForeignWorker() {
    throw new DOMException('The script is of another origin.', 'SecurityError');
  });
  const listening: (AbortSignal | undefined)[] = [];
  const listen: typeof document.addEventListener = (_type: string, _listener: unknown, options?: unknown) =>
    void listening.push((options as AddEventListenerOptions | undefined)?.signal);
  vi.stubGlobal('addEventListener', listen);
  vi.spyOn(document, 'addEventListener').mockImplementation(listen);
  expect((await startAndLeave(50_000)).error).toMatchObject({ name: 'SecurityError' });
  expect(listening.filter((signal) => !signal?.aborted)).toEqual([]);
});
