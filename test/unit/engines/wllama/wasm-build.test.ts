import { createServer } from 'node:http';

import { expect, test, vi } from 'vitest';

import { chatThreads, processors } from '../../../../src/engine-kit/device.ts';
import { setAppScope } from '../../../../src/engine-kit/engine-file.ts';
import { chooseBuild } from '../../../../src/engines/wllama/wasm-build.ts';
import { listen } from '../../../support/listen.ts';

const { signal } = new AbortController();

/** Answers every request alike but those for the list of the server's build, and counts them. */
async function serve(status: number, body: string, list?: string) {
  const asked: string[] = [];
  const server = createServer(({ url }, answer) => {
    asked.push(url ?? '');
    if (list !== undefined && url === '/localtext-sw-files.js') answer.end(list);
    else answer.writeHead(status).end(body);
  });
  const origin = await listen(server);
  return { asked, wasm: (name: string) => `${origin}/${name}` };
}

test('the compatibility build of wllama is fetched only without 64-bit memory or relaxed SIMD', async () => {
  const { asked, wasm } = await serve(200, 'var Module;');
  expect(await chooseBuild({ wasm, signal }, true)).toEqual({ wasm: wasm('wllama.wasm'), compat: false });
  expect(asked).toEqual([]);
  expect(await chooseBuild({ wasm, signal }, false)).toEqual({
    wasm: wasm('wllama-compat.wasm'),
    compat: true,
  });
});

test.each([
  [404, 'not found', 'could not be downloaded: the server answered 404'],
  [200, '<!doctype html>', 'is not a script'],
])('a missing compatibility build (%s) is named, with the package to install', async (status, body, why) => {
  const { wasm } = await serve(status, body);
  await expect(chooseBuild({ wasm, signal }, false)).rejects.toMatchObject({
    code: 'device_unsupported',
    message: expect.stringMatching(
      new RegExp(`memory64.*wllama-compat\\.js ${why}\\. Put the files of the wasm folder back`),
    ),
  });
});

test('a compatibility build of an earlier build of the site asks for a reload', async () => {
  const { wasm } = await serve(404, 'not found', "self.list=['localtext/wasm/wllama-compat-2.js']");
  await expect(chooseBuild({ wasm, signal }, false)).rejects.toMatchObject({ code: 'build_replaced' });
});

test.each([
  ['wllama-compat-2.js', 'build_replaced'],
  ['wllama-compat.js', 'device_unsupported'],
])(
  'the list beside the service worker tells too, wherever the engine’s files are: %s',
  async (name, code) => {
    const { wasm } = await serve(404, 'not found', `self.list=['localtext/wasm/${name}']`);
    vi.stubGlobal('location', new URL(wasm('page.html')));
    setAppScope('/');
    const elsewhere = (file: string) => wasm(`files/of/engines/${file}`);
    await expect(chooseBuild({ wasm: elsewhere, signal }, false)).rejects.toMatchObject({ code });
  },
);

test('a number of processors that hides the true one is counted low', () => {
  expect(processors({ hardwareConcurrency: 4 })).toBe(2);
  expect(processors({ hardwareConcurrency: 4, deviceMemory: 8 })).toBe(4);
  expect(processors({ hardwareConcurrency: 2 })).toBe(2);
  expect(processors({ hardwareConcurrency: 8 })).toBe(8);
});

test.each([
  [undefined, 1],
  [1, 1],
  [2, 1],
  [4, 2],
  [8, 4],
])('of %s reported processors, llama.cpp gets %s threads', (hardwareConcurrency, threads) => {
  expect(chatThreads(hardwareConcurrency === undefined ? {} : { hardwareConcurrency })).toBe(threads);
});
