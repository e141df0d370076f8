import { createServer, type ServerResponse } from 'node:http';
import { beforeEach, expect, test, vi } from 'vitest';

import type { ChatImage } from '../../../../src/jobs/chat.ts';
import type { DecisionJob } from '../../../../src/jobs/decision.ts';
import { jobRules } from '../../../../src/engine-worker/requests/job-rules.ts';
import { bytesOfDataUrl } from '../../../../src/engines/pictures/data-url.ts';
import { fetchImages, imageUrl } from '../../../../src/engine-worker/requests/fetch-images.ts';
import { createDeferred } from '../../../../src/base/async.ts';
import { listen } from '../../../support/listen.ts';
import { createModelManager } from '../../../support/create-model-manager.ts';
import { dataUrl, PICTURES, pngOf } from '../../../support/vision/pictures.ts';
import { never } from '../../../support/never.ts';

const [picture = Buffer.alloc(0)] = PICTURES;

beforeEach(() => vi.stubGlobal('location', { origin: 'https://site.example' }));

const imagesAt = (...urls: string[]): ChatImage[] =>
  urls.map((url, index) => ({ at: 0, url, param: `part ${index}` }));

test('a request has 16 images at most', async () => {
  const images = imagesAt(...Array.from({ length: 17 }, () => 'data:,'));
  await expect(fetchImages(images, [], never)).rejects.toThrow(/`part 16` is one image too many/);
});

test('all images are fetched at once, and data URLs stay as they are', async () => {
  const all = createDeferred();
  let asked = 0;
  vi.stubGlobal('fetch', async () => {
    if (++asked === 3) all.resolve();
    await all.promise;
    return new Response(new Uint8Array(picture));
  });
  const data = dataUrl(picture);
  const images = imagesAt('/a.png', data, '/b.png', '/c.png');
  await fetchImages(images, [], never);
  const sizes = images.map(({ file }) => file?.size);
  expect(sizes).toEqual([picture.length, undefined, picture.length, picture.length]);
});

test('all images of a request have 80 MB together at most', async () => {
  const large = Buffer.concat([picture, Buffer.alloc(19_999_999 - picture.length)]);
  let read = 0;
  vi.stubGlobal('fetch', async (url: URL) => {
    // The last one comes after the others have been read.
    if (url.pathname === '/4.png') await vi.waitFor(() => expect(read).toBe(4), 20_000);
    let rest = large.length;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const chunk = large.subarray(large.length - rest, large.length - rest + 4_000_000);
        rest -= chunk.length;
        if (chunk.length > 0) return controller.enqueue(new Uint8Array(chunk));
        read++;
        controller.close();
      },
    });
    return new Response(body);
  });
  const urls = Array.from({ length: 5 }, (_, index) => `/${index}.png`);
  await expect(fetchImages(imagesAt(...urls.slice(0, 4)), [], never)).resolves.toBeUndefined();
  read = 0;
  await expect(fetchImages(imagesAt(...urls), [], never)).rejects.toMatchObject({
    wire: { status: 400, param: 'part 4', type: 'invalid_request_error' },
    message: expect.stringContaining('`part 4` exceeds 80 MB') as string,
  });
});

/** Writes until the client leaves. */
const pour = (response: ServerResponse): void => {
  while (!response.destroyed)
    if (!response.write(Buffer.alloc(2 ** 16))) return void response.once('drain', () => pour(response));
};

test.each<[string, (response: ServerResponse) => unknown, RegExp]>([
  ['a redirect', (to) => to.writeHead(302, { location: 'data:image/png,' }).end(), /without a redirect/],
  ['a status', (to) => to.writeHead(404).end(picture), /answered 404/],
  ['a web page', (to) => to.setHeader('content-type', 'image/png').end('<!doctype html>'), /no PNG/],
  ['nothing', (to) => to.end(), /no PNG/],
  ['a body without end', pour, /larger than 20 MB/],
  [
    'too few bytes',
    (to) => to.writeHead(200, { 'content-length': 999 }).write(picture, () => to.destroy()),
    /fetched within/,
  ],
  ['a broken connection', (to) => to.destroy(), /fetched within 20 s/],
  ['headers alone', (to) => to.flushHeaders(), /fetched within 20 s/],
  ['no answer', () => undefined, /fetched within 20 s/],
])('a server that sends %s is refused', async (_, answer, says) => {
  const limit = new AbortController();
  const server = createServer((__, response) => {
    void answer(response);
    if (says.source.endsWith('20 s')) limit.abort();
  });
  const origin = await listen(server);
  vi.spyOn(AbortSignal, 'timeout').mockReturnValue(limit.signal);
  await expect(fetchImages(imagesAt(`${origin}/a.png`), [origin], never)).rejects.toMatchObject({
    wire: { status: 400, param: 'part 0' },
    message: expect.stringMatching(says) as string,
  });
});

test('those of a decision are fetched, too, and the job stays as it was sent', async () => {
  vi.stubGlobal('fetch', async () => new Response(new Uint8Array(picture)));
  const job: DecisionJob = {
    kind: 'decision',
    model: 'm',
    input: { text: '', images: imagesAt('/a.png') },
    questions: [],
  };
  const models = createModelManager({
    catalog: { ownedBy: 'us', models: [] },
    load: () => Promise.reject(new Error('no model is loaded')),
  });
  const request = { job, imageOrigins: [], models, onStage: () => undefined };
  const prepared = await jobRules('decision').prepare?.(request, never);
  expect(prepared?.input.images?.map(({ file }) => file?.size)).toEqual([picture.length]);
  expect(job.input.images).toEqual(imagesAt('/a.png'));
});

test('an image that cannot be decoded ends the fetches of the others', async () => {
  const signals: AbortSignal[] = [];
  vi.stubGlobal('fetch', async (url: URL, { signal }: { signal: AbortSignal }) => {
    signals.push(signal);
    if (url.pathname === '/bomb.png')
      return new Response(new Uint8Array(pngOf(60_000, 60_000, Buffer.alloc(9))));
    return new Promise<Response>((_, reject) =>
      signal.addEventListener('abort', () => reject(new Error('aborted'))),
    );
  });
  await expect(fetchImages(imagesAt('/slow.png', '/bomb.png'), [], never)).rejects.toMatchObject({
    wire: { status: 400, param: 'part 1' },
    message: expect.stringContaining('60000 × 60000 pixels') as string,
  });
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
});

test('a data URL is an image in base64', () => {
  const refusal = (url: string) => () => bytesOfDataUrl(url);
  expect(Buffer.from(bytesOfDataUrl(dataUrl(picture)))).toEqual(picture);
  expect(bytesOfDataUrl('data:image/png;charset=x;BASE64,AQI=')).toEqual(Uint8Array.of(1, 2));
  for (const base64 of ['-_8=', '-_8', '%2B/8%3D', '+/\n8='])
    expect(bytesOfDataUrl(`data:image/png;base64,${base64}`)).toEqual(Uint8Array.of(251, 255));
  expect(refusal('data:,')).toThrow(/not in base64/);
  expect(refusal('data:image/svg+xml,<svg/>')).toThrow(/not in base64/);
  expect(refusal('data:text/plain;base64,AQI=')).toThrow(/"text\/plain", which is no image/);
  expect(refusal('data:image/png;base64,%%%')).toThrow(/cut off/);
  expect(refusal(`data:image/png;base64,${'A'.repeat(26_700_000)}`)).toThrow(/larger than 20 MB/);
});

test('a URL is of the site, or of an origin that it names', () => {
  vi.stubGlobal('location', { origin: 'https://site.example' });
  const urlOf = (url: string, origins: string[] = []) =>
    imageUrl(url, 'messages[0].content[0]', origins).href;
  expect(urlOf('/a.png')).toBe('https://site.example/a.png');
  expect(urlOf('https://site.example/a.png')).toBe('https://site.example/a.png');
  expect(() => urlOf('https://other.example/a.png')).toThrow(/is at https:\/\/other\.example.*origins/);
  expect(() => urlOf('//other.example/a.png')).toThrow(/is at https:\/\/other\.example/);
  expect(() => urlOf('http://site.example/a.png')).toThrow(/is at http:\/\/site\.example/);
  expect(urlOf('https://other.example/a.png', ['no origin', 'https://other.example/'])).toContain('other');
  for (const url of [
    'blob:https://site.example/1',
    'file:///a.png',
    'javascript:0',
    'https://a:b@site.example/',
    `/${'A'.repeat(10_000)}`,
    '/9j/4AAQSkZJRg==',
    'iVBORw0KGgo=',
    'cat.png',
  ])
    expect(() => urlOf(url)).toThrow(/must have a URL that begins with `data:image\/png;base64,`/);
});
