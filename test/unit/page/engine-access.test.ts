import { expect, test, vi } from 'vitest';

import { loadModel, readStatus } from '../../../src/page/engine-access.ts';
import { LINES_TYPE } from '../../../src/protocol/local-paths.ts';

const LINES = [
  { type: 'progress', progress: { phase: 'download', loadedBytes: 1, totalBytes: 2 } },
  { type: 'loaded' },
];
const lines = { headers: { 'content-type': LINES_TYPE } };
const body = LINES.map((line) => `${JSON.stringify(line)}\n`).join('');

/** Answers each request with the next of these, the last one again and again. */
function host(...answers: (() => Response)[]): { signals: (AbortSignal | null | undefined)[] } {
  const signals: (AbortSignal | null | undefined)[] = [];
  vi.stubGlobal('fetch', async (_url: string, init?: RequestInit) => {
    signals.push(init?.signal);
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    if (!answer) throw new Error('no answer');
    return answer();
  });
  return { signals };
}

const { signal } = new AbortController();

test("an error of the caller's `onProgress` ends the load at once, and is the caller's", async () => {
  const { signals } = host(() => new Response(body, lines));
  const fault = new TypeError('no element');
  const onProgress = (): never => {
    throw fault;
  };
  await expect(loadModel('a', signal, onProgress)).rejects.toBe(fault);
  expect(signals.map((each) => each?.aborted)).toEqual([true]);
});

test('a connection that breaks is taken up again', async () => {
  const broken = (): never => {
    throw new TypeError('Failed to fetch');
  };
  const cut = (): Response => new Response(body.slice(0, 80), lines);
  const { signals } = host(broken, cut, () => new Response(body, lines));
  const onProgress = vi.fn<() => void>();
  await loadModel('a', signal, onProgress);
  expect(signals).toHaveLength(3);
  expect(onProgress).toHaveBeenCalledOnce();
  const whole = (): Response => new Response(body, lines);
  host(broken, broken, broken, whole);
  await expect(loadModel('a', signal)).rejects.toMatchObject({ code: 'engine_lost' });
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => (now += 15_000));
  host(cut, cut, cut, cut, whole);
  await loadModel('a', signal);
});

test.each([
  ['a page', 200, '<!doctype html>'],
  ['a page for errors', 404, '<!doctype html>'],
])('a host that answers with %s: the service worker has no control', async (_, status, html) => {
  host(() => new Response(html, { status, headers: { 'content-type': 'text/html' } }));
  for (const ask of [readStatus, () => loadModel('a', signal)])
    await expect(ask()).rejects.toMatchObject({
      name: 'LocaltextError',
      code: 'service_worker_no_control',
      message: expect.stringContaining(`answered ${status}`),
    });
});

test('no engine answers: there is no status', async () => {
  host(() => new Response(null, { status: 204 }));
  expect(await readStatus()).toBeNull();
});
