import { createServer, type ServerResponse } from 'node:http';
import { beforeEach, expect, test, vi } from 'vitest';

import { readStart } from '../../../../src/weights/sources/read-start.ts';
import { listHubFiles, readRepository } from '../../../../src/weights/sources/hub-source.ts';
import { listen } from '../../../support/listen.ts';
import { ggufVariant } from '../../../support/catalogs.ts';
import { never } from '../../../support/never.ts';

/** A mirror of the model hub whose answers are not to be trusted. */

const COMMIT = 'c'.repeat(40);
const HASH = 'a'.repeat(64);

let endpoint: string;
let info: string;
let tree: (response: ServerResponse, pages: number) => void;
let pages: number;

beforeEach(async () => {
  pages = 0;
  info = JSON.stringify({ sha: COMMIT });
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'application/json');
    if (request.url?.includes('/revision/')) response.end(info);
    else tree(response, ++pages);
  });
  endpoint = await listen(server);
});

const readFileStart = () => readStart('https://a.example/x.gguf', 100, never);
const list = () => readRepository({ repository: 'owner/name', revision: null }, endpoint, never);
const file = (path: unknown, more: object = {}) => ({
  type: 'file',
  path,
  size: 100,
  lfs: { oid: HASH, size: 100 },
  ...more,
});
const answering =
  (body: unknown): typeof tree =>
  (response) =>
    response.end(typeof body === 'string' ? body : JSON.stringify(body));

const unavailable = (message: RegExp) => ({
  wire: { code: 'weights_unavailable', message: expect.stringMatching(message) as string },
});

test('a list without an end is left after eight megabytes', async () => {
  tree = (response) => {
    response.write('[');
    const push = (): void => {
      while (!response.destroyed)
        if (!response.write(' '.repeat(65_536))) return void response.once('drain', push);
    };
    push();
  };
  await expect(list()).rejects.toMatchObject(unavailable(/more than \d+ bytes/));
});

const NO_LIST = /not answer with a list/;

test.each([
  ['no JSON', '<html>', /not answer with JSON/],
  ['no list', { length: 1 }, NO_LIST],
  ['100,000 that are none', Array.from({ length: 100_000 }, () => 0), NO_LIST],
  ['a name that is none', [file({ a: 1 })], NO_LIST],
  ['a name of a megabyte', [file('a'.repeat(2 ** 20))], NO_LIST],
  ['a negative size', [file('a.gguf', { size: -1 })], NO_LIST],
  ['a size beyond all files', [file('a.gguf', { lfs: { oid: HASH, size: 1e300 } })], NO_LIST],
  ['a hash that is a path', [file('a.gguf', { lfs: { oid: '../../'.repeat(21), size: 1 } })], NO_LIST],
])('a list of files is refused by name: %s', async (_, body, message) => {
  tree = answering(body);
  await expect(list()).rejects.toMatchObject(unavailable(message));
});

test.each([{ sha: '../../other' }, { sha: 5 }, null, 'text'])('no commit is refused: %j', async (body) => {
  info = JSON.stringify(body);
  await expect(list()).rejects.toMatchObject({ wire: { code: 'weights_unavailable' } });
});

const hub = {
  repository: 'owner/name',
  revision: COMMIT,
  folder: 'model',
  files: ['model.gguf'],
  approximateBytes: 100,
};
const variant = ggufVariant('model', { hub });

/** Hash of "abc", which the hub has no hash for. */
const HASH_OF_SMALL = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';

test.each([
  ['has another SHA-256 than the catalog names', HASH, 'b'.repeat(64), false],
  ['has the SHA-256 that the catalog names', HASH, HASH, true],
  ['is small, and has another SHA-256 than the catalog names', HASH_OF_SMALL, HASH, false],
  ['is small, and has the SHA-256 that the catalog names', HASH_OF_SMALL, HASH_OF_SMALL, true],
])('a file of a variant that %s', async (_, hash, sha256, isListed) => {
  const isSmall = hash === HASH_OF_SMALL;
  const listing = [file('model.gguf', isSmall ? { lfs: undefined, size: 3 } : {})];
  tree = (response, page) => {
    // The first answer with the file breaks off.
    if (page !== 2) return response.end(page === 1 ? JSON.stringify(listing) : 'abc');
    response.setHeader('content-length', 3);
    response.write('a', () => response.destroy());
  };
  const pinned = { ...hub, sha256: { 'model.gguf': sha256 } };
  const listed = listHubFiles({ ...variant, hub: pinned }, pinned, endpoint, never);
  if (isListed) expect(await listed).toMatchObject([{ sha256: hash, bytes: isSmall ? 3 : 100 }]);
  else await expect(listed).rejects.toMatchObject({ wire: { code: 'weights_unavailable' } });
});

test('an answer of another size than the hub lists is not taken for a small file', async () => {
  const listing = [file('model.gguf', { lfs: undefined, size: 3 })];
  tree = (response, page) => response.end(page === 1 ? JSON.stringify(listing) : '<html>');
  await expect(listHubFiles(variant, hub, endpoint, never)).rejects.toMatchObject({
    message: expect.stringMatching(/model\.gguf has 6 bytes, and the model hub lists 3/) as string,
    wire: { code: 'weights_unavailable' },
  });
});

test('pages that lead to each other end, and none is asked of another host', async () => {
  tree = (response) => {
    response.setHeader('link', '<http://127.0.0.1:9/elsewhere?cursor=again>; rel="next"');
    answering([file('model.gguf')])(response, 0);
  };
  await expect(list()).rejects.toThrow('more than 20 pages of files for');
  expect(pages).toBe(20);
});

test.each(['http://[', 'http://a b', '//:0'])('a next page that is no address is named: %s', async (next) => {
  tree = (response) => {
    response.setHeader('link', `<${next}>; rel="next"`);
    answering([file('model.gguf')])(response, 0);
  };
  await expect(list()).rejects.toThrow('the `Link` header of the model hub, or of its mirror, is malformed');
});

// Quadratic in the header, it would take minutes. No server of Node sends one of this size.
test.each(['<', '>;', '<a>;  ', '<a'])('a header of a million times %j leads to no page', async (piece) => {
  const headers = { link: piece.repeat(1_000_000) };
  vi.stubGlobal('fetch', async (url: string) =>
    url.includes('/revision/') ? new Response(info) : Response.json([file('model.gguf')], { headers }),
  );
  expect((await list()).files).toHaveLength(1);
});

const silent = { headers: { 'content-length': '100' } };
test.each<[string, () => Promise<Response>]>([
  ['does not answer', () => new Promise(() => undefined)],
  ['sends no byte', () => Promise.resolve(new Response(new ReadableStream(), silent))],
])('the start of a file is not waited for without end from a server that %s', async (_, fetched) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  vi.stubGlobal('fetch', fetched);
  const read = readStart('https://a.example/x.gguf', 100, never).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await read).toMatchObject(unavailable(/nothing for 30 s/));
});

test('the start of a file is no longer than asked for, or than the file', async () => {
  const size = { headers: { 'content-length': '5' } };
  vi.stubGlobal('fetch', async () => new Response('abcde', size));
  for (const length of [3, 5, 9]) {
    const { bytes, size: found } = await readStart('https://a.example/x.gguf', length, never);
    expect([new TextDecoder().decode(bytes), found]).toEqual(['abcde'.slice(0, length), 5]);
  }
});

test('no name leads out of the repository, or has characters that are not shown', async () => {
  const names = ['../../../x.gguf', 'a?b#c.gguf', 'https://elsewhere/x.gguf', 'a\u0000\r\n\u202eb.gguf'];
  tree = answering(names.map((name) => file(name)));
  const { files } = await list();
  expect(files).toHaveLength(2);
  for (const { url } of files) {
    const { origin, pathname, search, hash } = new URL(url);
    expect(origin).toBe(endpoint);
    expect(pathname).toMatch(new RegExp(`^/owner/name/resolve/${COMMIT}/`));
    expect([search, hash]).toEqual(['', '']);
  }
});

const NO_SIZE = /the server does not report its size/;
test.each<[string, number, HeadersInit, RegExp]>([
  ['a compressed answer', 200, { 'content-length': '5', 'content-encoding': 'gzip' }, NO_SIZE],
  ['an answer with another part', 206, { 'content-range': 'bytes 50-59/1000' }, NO_SIZE],
  ['a few bytes of it', 206, { 'content-range': 'bytes 0-9/1000' }, /only 10 of the requested bytes\. Down/],
])('%s is not taken for the start of the file', async (_, status, headers, message) => {
  vi.stubGlobal('fetch', async () => new Response('abcdefghij', { status, headers }));
  await expect(readFileStart()).rejects.toThrow(message);
});

const unreachable = (): Promise<Response> => Promise.reject(new TypeError('Failed to fetch'));
const broken = (): Promise<Response> => {
  const body = new ReadableStream({ pull: (controller) => controller.error(new TypeError('network error')) });
  return Promise.resolve(new Response(body, silent));
};
test.each([
  ['a list of files, without a connection', unreachable, list],
  ['a list of files that breaks off', broken, list],
  ['the start of a file, without a connection', unreachable, readFileStart],
  ['the start of a file that breaks off', broken, readFileStart],
])('%s: the message has the causes, which browsers do not distinguish', async (_, fetched, read) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  vi.setTimerTickMode('nextTimerAsync');
  vi.stubGlobal('fetch', fetched);
  await expect(read()).rejects.toMatchObject(
    unavailable(/read: the connection failed, .*CORS.*connect-src.*\. (Check the connection|Download)/),
  );
});

test('the start of a file continues after a connection that breaks', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  vi.setTimerTickMode('nextTimerAsync');
  const asked: string[] = [];
  vi.stubGlobal('fetch', async (_url: string, { headers }: { headers: { range: string } }) => {
    asked.push(headers.range);
    const [, from = 0] = (/(\d+)-/.exec(headers.range) ?? []).map(Number);
    const range = { 'content-range': `bytes ${from}-9/10` };
    const parts = ['0123456789'.slice(from, from + 3)];
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const part = parts.pop();
        if (part) controller.enqueue(new TextEncoder().encode(part));
        else controller.error(new TypeError('network error'));
      },
    });
    return new Response(body, { status: 206, headers: range });
  });
  const { bytes } = await readStart('https://a.example/x.gguf', 10, never);
  expect(new TextDecoder().decode(bytes)).toBe('0123456789');
  expect(asked).toEqual(['bytes=0-9', 'bytes=3-9', 'bytes=6-9', 'bytes=9-9']);
});

test('a hub that falls silent is left, and an abort is no failure of the hub', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const abort = new AbortController();
  vi.stubGlobal('fetch', () => new Promise(() => undefined));
  const source = { repository: 'owner/name', revision: null };
  const silentHub = list().catch((error: unknown) => error);
  const aborted = readRepository(source, endpoint, abort.signal).catch((error: unknown) => error);
  abort.abort(new Error('left'));
  expect(await aborted).toMatchObject({ message: 'left' });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await silentHub).toMatchObject(unavailable(/nothing for 30 s/));
});
