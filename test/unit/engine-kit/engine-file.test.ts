import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { expect, test, vi } from 'vitest';
import { ServiceError } from '../../../src/base/errors/service-error.ts';
import { halvedLengths } from '../../../src/catalog/memory-estimate.ts';
import {
  checkWasm,
  checkWasmStart,
  FileReplaced,
  scriptFault,
  watchWasm,
} from '../../../src/engine-kit/engine-file.ts';
import { isLackOfMemory } from '../../../src/engine-kit/out-of-memory.ts';
import { listen } from '../../support/listen.ts';
import { never } from '../../support/never.ts';

/** The smallest module. */
const MODULE = Buffer.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);

async function serve(status: number, body: Buffer, name = 'wllama.wasm'): Promise<string> {
  const server = createServer((_, response) => response.writeHead(status).end(body));
  return `${await listen(server)}/wasm/${name}`;
}

test('a WASM file is good', async () => {
  await checkWasm(await serve(200, MODULE), never);
});

test('a WASM file of another build is not taken for the one that its name says', async () => {
  const hash = createHash('sha256').update(MODULE).digest('hex').slice(0, 8);
  // Validating a large file blocks this thread.
  const validate = vi.spyOn(WebAssembly, 'validate');
  await checkWasm(await serve(200, MODULE, `wllama-${hash}.wasm`), never);
  const other = Buffer.concat([MODULE, Buffer.from([0, 2, 1, 0x61])]);
  await expect(checkWasm(await serve(200, other, `wllama-${hash}.wasm`), never)).rejects.toThrow(
    `wllama-${hash}.wasm does not match the hash in its name. Put the files of the wasm folder back`,
  );
  expect(validate).not.toHaveBeenCalled();
});

test.each<[string, number, Buffer, RegExp]>([
  ['missing', 404, Buffer.from('not found'), /wllama\.wasm could not be downloaded: the server answered 404/],
  ['a page', 200, Buffer.from('<!doctype html>'), /wllama\.wasm is not a WebAssembly file/],
  ['empty', 200, Buffer.alloc(0), /wllama\.wasm is not a WebAssembly file/],
  ['cut short', 200, Buffer.concat([MODULE, Buffer.from([1, 9])]), /wllama\.wasm is truncated/],
])('a WASM file that is %s is an error that names it', async (_, status, body, message) => {
  await expect(checkWasm(await serve(status, body), never)).rejects.toMatchObject({
    message: expect.stringMatching(message) as string,
    wire: { code: 'model_load_failed' },
  });
});

test('a file that is missing is told of as an engine starts, and one that is broken when it does not come up', async () => {
  await expect(watchWasm(await serve(404, MODULE), never)).rejects.toThrow(/the server answered 404/);
  await expect(watchWasm(await serve(200, Buffer.from('<a>')), never)).rejects.toThrow(/not a WebAssembly/);
  const url = await serve(200, Buffer.concat([MODULE, Buffer.from([1, 9])]));
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  vi.setTimerTickMode('nextTimerAsync');
  await expect(watchWasm(url, never)).rejects.toThrow(/truncated/);
});

test('a script that lacks the policy of an isolated page is an error that names the policy', async () => {
  vi.stubGlobal('crossOriginIsolated', true);
  const { message } = await scriptFault(await serve(200, Buffer.from('{}'), 'a.js'), new Error('no start'));
  expect(message).toMatch(/a\.js came without Cross-Origin-Embedder-Policy/);
});

test('a copy that replaces a wrong one is read whole', async () => {
  let isWhole = false;
  const parts: UnderlyingDefaultSource<Uint8Array> = {
    start: (controller) => controller.enqueue(MODULE),
    pull(controller) {
      isWhole = true;
      controller.close();
    },
  };
  vi.stubGlobal('fetch', async (url: string, { cache }: RequestInit) => {
    if (!url.endsWith('.wasm')) return new Response(null, { status: 404 });
    return new Response(cache === 'reload' ? new ReadableStream(parts, { highWaterMark: 0 }) : '<html>');
  });
  await expect(checkWasmStart('https://app.example/wasm/wllama.wasm', never)).rejects.toThrow(FileReplaced);
  expect(isWhole).toBe(true);
});

test('a file whose first bytes come one by one is good', async () => {
  const bytes = [...MODULE].map((byte) => Uint8Array.of(byte));
  const body = () => new ReadableStream({ pull: (controller) => controller.enqueue(bytes.shift()) });
  vi.stubGlobal('fetch', async () => new Response(body()));
  await checkWasmStart('https://app.example/wasm/slow.wasm', never);
});

test('a server that never answers does not hold up the error of a failed load', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  vi.setTimerTickMode('nextTimerAsync');
  vi.stubGlobal('fetch', () => new Promise(() => undefined));
  await checkWasmStart('https://app.example/wasm/silent.wasm', never);
});

test('the watch over an engine that has come up ends with it', async () => {
  const there = new AbortController();
  const watch = expect(watchWasm(await serve(200, MODULE), there.signal)).rejects.toThrow('there');
  there.abort(new Error('there'));
  await watch;
});

test('a server that is away, likewise', async () => {
  await expect(checkWasm('http://127.0.0.1:9/wllama.wasm', never)).rejects.toThrow(
    /wllama\.wasm is not stored in this browser.*the network or the site's server is not reachable, or an extension/,
  );
});

test('the context is halved down to what a chat needs', () => {
  expect(halvedLengths(8192)).toEqual([8192, 4096, 2048, 1024]);
  expect(halvedLengths(512)).toEqual([512]);
});

test.each([
  new RangeError('WebAssembly.Memory(): could not allocate memory'),
  new Error('std::bad_alloc'),
  new Error('failed to allocate buffer for kv cache'),
  new WebAssembly.RuntimeError('memory access out of bounds'),
])('%s means too little memory', (error) => {
  expect(isLackOfMemory(error)).toBe(true);
});

test.each([new Error('invalid magic characters'), new ServiceError({ message: 'memory access' })])(
  '%s means something else',
  (error) => {
    expect(isLackOfMemory(error)).toBe(false);
  },
);
