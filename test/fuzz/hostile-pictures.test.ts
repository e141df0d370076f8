import { createServer, type Server, type ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';

import { fetchImages } from '../../src/engine-worker/requests/fetch-images.ts';
import { ServiceError } from '../../src/base/errors/service-error.ts';
import type { ChatImage } from '../../src/jobs/chat.ts';
import { listen } from '../support/listen.ts';
import { PICTURES } from '../support/vision/pictures.ts';
import { Random } from '../chaos/random.ts';
import { hostileImage } from './hostile-image.ts';

/** Servers of pictures that redirect, drip, never end, or send something else. */

const count = Number(process.env['LOCALTEXT_FUZZ_PICTURES'] ?? 30);
const seed = Number(process.env['LOCALTEXT_FUZZ_SEED'] ?? 1);
const LANES = 30;
/** The limit of all images of a request, and some for a machine that others keep busy. */
const MAX_MS = 30_000;
/** The bound of one image, and what the sockets and streams of this process hold. */
const MAX_BYTES = 40e6;

const [picture = Buffer.alloc(0)] = PICTURES;
const block = Buffer.alloc(2 ** 16, 0x89);

type Answer = (response: ServerResponse, random: Random) => void;

const pour = (response: ServerResponse): void => {
  while (!response.destroyed)
    if (!response.write(block)) return void response.once('drain', () => pour(response));
};

const ANSWERS: Record<string, Answer> = {
  'a picture': (response) => response.end(picture),
  'a picture of another type': (response, random) =>
    response
      .setHeader('content-type', random.pick(['text/html', 'image/svg+xml', '', 'application/json', 'a']))
      .end(picture),
  'a status': (response, random) =>
    response
      .writeHead(random.pick([204, 206, 301, 400, 401, 403, 404, 410, 429, 500, 503]))
      .end(random.pick(['', '<h1>', '{"error":{}}'])),
  'a redirect': (response, random) =>
    response
      .writeHead(random.pick([301, 302, 303, 307, 308]), {
        location: random.pick([
          '/',
          '/again',
          'http://127.0.0.1:1/',
          'data:image/png,',
          '//[',
          'file:///etc/passwd',
        ]),
      })
      .end(),
  'a body without end': (response) => pour(response),
  'a picture without end': (response) => {
    response.write(picture);
    pour(response);
  },
  'a slow picture': (response) => {
    let at = 0;
    const timer = setInterval(() => response.write(picture.subarray(at, ++at)), 300);
    response.on('close', () => clearInterval(timer));
  },
  'no answer': () => undefined,
  'headers alone': (response) => response.flushHeaders(),
  'too short': (response) => {
    response.setHeader('content-length', picture.length + 100);
    response.write(picture);
    setTimeout(() => response.destroy(), 50);
  },
  'too long': (response) => response.setHeader('content-length', 9).end(picture.subarray(0, 9)),
  'a false encoding': (response) => response.setHeader('content-encoding', 'gzip').end(picture),
  HTML: (response) => response.setHeader('content-type', 'image/png').end('<!doctype html><title>a</title>'),
  nothing: (response) => response.end(),
  'a broken connection': (response) => response.destroy(),
  'a hostile picture': (response, random) => response.end(hostileImage(random).file),
};

let server: Server;
let origin: string;
const sent = new Map<string, number>();
/** Node 20 collects signals that `AbortSignal.any()` alone holds, and they never abort. */
const signals: AbortSignal[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    const url = request.url ?? '';
    const [, name = '', number = '0'] = url.split('/');
    const write = response.write.bind(response);
    response.write = ((chunk: Buffer) => {
      sent.set(url, (sent.get(url) ?? 0) + chunk.length);
      return write(chunk);
    }) as typeof response.write;
    (ANSWERS[decodeURIComponent(name)] ?? ((other) => other.end(picture)))(
      response,
      new Random(Number(number)),
    );
  });
  origin = await listen(server);
  vi.stubGlobal('location', { origin: 'https://site.example' });
  const [any, timeout] = [AbortSignal.any.bind(AbortSignal), AbortSignal.timeout.bind(AbortSignal)];
  const kept = (signal: AbortSignal): AbortSignal => {
    signals.push(signal);
    return signal;
  };
  vi.spyOn(AbortSignal, 'any').mockImplementation((sources) => kept(any(sources)));
  vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => kept(timeout(ms)));
});
afterAll(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  server.closeAllConnections();
  server.close();
});

/** Null: it ends in time, with the pictures or with a fault of one of them. */
async function judge(images: ChatImage[]): Promise<string | null> {
  const began = performance.now();
  const names = images.map(({ url }) => decodeURIComponent(url.slice(origin.length)));
  try {
    const withFile = await fetchImages(images, [origin], new AbortController().signal);
    for (const image of images) if (!withFile(image).file) return `no file: ${names.join()}`;
  } catch (error) {
    if (!(error instanceof ServiceError) || error.wire.status !== 400)
      return `${names.join()}: ${String(error)}`;
    if (!images.some(({ param }) => param === error.wire.param)) return `names ${error.wire.param}`;
  }
  const ms = performance.now() - began;
  return ms > MAX_MS ? `${names.join()}: ${Math.round(ms)} ms` : null;
}

test(
  `no server of pictures holds a request (${count}, seed ${seed})`,
  { timeout: 60_000 + count * 2000 },
  async () => {
    const faults: string[] = [];
    let next = 0;
    const lane = async (): Promise<void> => {
      while (next < count) {
        const index = next++;
        const random = new Random(seed * 6_000_011 + index);
        const images = Array.from({ length: random.pick([1, 1, 2, 16]) }, (_, at) => {
          const name = encodeURIComponent(random.pick(Object.keys(ANSWERS)));
          return { at: 0, url: `${origin}/${name}/${index * 16 + at}`, param: `part ${at}` };
        });
        const fault = await judge(images);
        if (fault !== null) faults.push(`${index}: ${fault}`);
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    expect(faults).toEqual([]);
    expect([...sent].filter(([, bytes]) => bytes > MAX_BYTES)).toEqual([]);
    // Fetches that were given up are closed.
    await expect
      .poll(() => new Promise((resolve) => server.getConnections((_, connections) => resolve(connections))))
      .toBeLessThan(LANES * 16);
  },
);
