import type { ServerResponse } from 'node:http';
import { beforeAll, expect, test } from 'vitest';

import { FakeEngine } from '../support/fake-engine.ts';
import { servedModels, speechForm, type ServedModels } from './served-models.ts';

/** Replies that are long or endless, to clients that ask for several, and to clients that read nothing. */

const MEGABYTE = 2 ** 20;
const PIECE = 'word '.repeat(13_000);
const event = (content: string, finish: string | null = null): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: finish }] })}\n\n`;
const completed = (text: string): string => `data: ${JSON.stringify({ choices: [{ index: 0, text }] })}\n\n`;
const spoken = (delta: string): string =>
  `data: ${JSON.stringify({ type: 'transcript.text.delta', delta })}\n\n`;

let models: ServedModels;
/** Bytes that the server has sent. */
let sent = 0;

beforeAll(async () => {
  // Each reply alone may have 64 MB.
  models = await servedModels(4_000_000);
});
/** Sends the block as fast as it is read, up to so many bytes, and then the end. */
function pour(to: ServerResponse, block: string, most: number, end = '', type = 'text/event-stream'): void {
  to.writeHead(200, { 'content-type': type });
  let own = 0;
  const push = (): void => {
    while (own < most && !to.destroyed) {
      own += block.length;
      sent += block.length;
      if (!to.write(block)) return void to.once('drain', push);
    }
    to.end(end);
  };
  push();
}

const chat = (more: object) => ({ model: 'chat', messages: [{ role: 'user', content: 'hi' }], ...more });

test.each([false, true])(
  'endless replies to several choices end with an error (streamed: %s)',
  { timeout: 120_000 },
  async (stream) => {
    sent = 0;
    models.answer = (response) => pour(response, event(PIECE), Number.POSITIVE_INFINITY);
    const response = await models.send('/chat/completions', chat({ n: 4, stream }));
    let last = '';
    let length = 0;
    const decoder = new TextDecoder();
    for await (const bytes of response.body ?? []) {
      last = decoder.decode(bytes, { stream: true });
      length += bytes.length;
    }
    expect(last).toMatch(stream ? /"code":"upstream_failed"/ : /exceeds 64 MB/);
    expect(length).toBeLessThan(280 * MEGABYTE);
    expect(sent).toBeLessThan(300 * MEGABYTE);
    expect(models.open()).toBe(0);
  },
);

/** Path and body, for a model with this prefix. */
const REQUESTS: Record<string, (prefix: string) => [path: string, body: object | FormData]> = {
  'a chat': (prefix) => ['/chat/completions', chat({ model: `${prefix}chat`, stream: true })],
  'a chat of four choices': (prefix) => [
    '/chat/completions',
    chat({ model: `${prefix}chat`, stream: true, n: 4 }),
  ],
  'a completion': (prefix) => [
    '/completions',
    { model: `${prefix}chat`, prompt: 'hi', stream: true, max_tokens: 1_000_000 },
  ],
  'a response': (prefix) => [
    '/responses',
    { model: `${prefix}chat`, input: 'hi', stream: true, store: false },
  ],
  'a transcription': (prefix) => [
    '/audio/transcriptions',
    speechForm({ model: `${prefix}speech`, stream: 'true' }),
  ],
};

const BLOCKS: Record<string, string> = {
  '/v1/audio/transcriptions': spoken(PIECE),
  '/v1/completions': completed(PIECE),
};

/** What the sockets of this process hold, and the streams of its `fetch()`. */
const BUFFERED = 24 * MEGABYTE;

const SPEECH: [string, (typeof REQUESTS)[string]] = [
  'speech',
  (prefix) => ['/audio/speech', { model: `${prefix}voice`, input: 'Hi', response_format: 'wav' }],
];

/** Waits until a count that has begun does not rise within half a second. */
async function untilSteady(count: () => number): Promise<void> {
  let last = 0;
  const isSteady = (): boolean => {
    const before = last;
    last = count();
    return last > 0 && last === before;
  };
  await expect.poll(isSteady, { interval: 500 }).toBe(true);
}

test.each([...Object.entries(REQUESTS), SPEECH])(
  'a client that reads nothing holds up the server: %s',
  async (name, request) => {
    sent = 0;
    models.answer = (response, path) =>
      path === '/v1/audio/speech'
        ? pour(response, PIECE, Number.POSITIVE_INFINITY, '', 'audio/wav')
        : pour(response, BLOCKS[path] ?? event(PIECE), Number.POSITIVE_INFINITY);
    const leave = new AbortController();
    const response = await models.send(...request(''), leave.signal);
    await untilSteady(() => sent);
    expect(sent).toBeLessThan(BUFFERED * (name.includes('four') ? 4 : 1));
    leave.abort(new Error('left'));
    await response.text().catch(() => '');
    await expect.poll(() => models.open()).toBe(0);
  },
);

test.each(Object.entries(REQUESTS))('little of long deltas lies unread: %s', async (_, request) => {
  let made = 0;
  const words = function* () {
    while (made++ < 1000) yield PIECE;
  };
  models.device = new FakeEngine({ deltas: Array.from({ length: 1000 }, () => PIECE) });
  models.device.words = words();
  const leave = new AbortController();
  const response = await models.send(...request('device-'), leave.signal);
  const unread = () => made + models.device.yielded;
  await untilSteady(unread);
  expect(unread() * PIECE.length).toBeLessThan(MEGABYTE);
  leave.abort(new Error('left'));
  await response.text().catch(() => '');
  await expect.poll(() => models.open()).toBe(0);
});
