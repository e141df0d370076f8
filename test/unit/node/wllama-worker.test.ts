import { createRequire } from 'node:module';
import { createContext, runInContext } from 'node:vm';

import { CacheManager, Wllama } from '@wllama/wllama/esm/index.js';
import { afterEach, expect, test, vi } from 'vitest';

import { wllamaWorker } from '../../../src/node/wllama-worker.ts';

const installed = createRequire(import.meta.url).resolve;
const entry = installed('@wllama/wllama/esm/index.js');
const compat = installed('@wllama/wllama-compat/wasm/wllama.js');

afterEach(() => vi.unstubAllGlobals());

const noCache = (): CacheManager =>
  new CacheManager([
    {
      isSupported: () => true,
      read: async () => null,
      write: async () => undefined,
      getSize: async () => -1,
      list: async () => [],
      delete: async () => undefined,
    },
  ]);

/** What the package itself would start its worker, and its threads, from. */
async function packageScripts(): Promise<{ worker: string; thread: string }> {
  const scripts: Blob[] = [];
  vi.stubGlobal('navigator', { hardwareConcurrency: 4, userAgent: '' });
  vi.stubGlobal('self', { location: { href: 'https://site.example/' } });
  const createUrl = vi.spyOn(URL, 'createObjectURL').mockImplementation((blob) => {
    scripts.push(blob as Blob);
    return 'blob:script';
  });
  const thread = await new Promise<Blob>((resolve) => {
    vi.stubGlobal(
      'Worker',
      class {
        postMessage({ args }: { args: [Blob] }): void {
          resolve(args[0]);
        }
      },
    );
    const wllama = new Wllama(
      { default: 'https://site.example/wllama.wasm' },
      { cacheManager: noCache(), suppressNativeLog: true },
    );
    wllama.setCompat(null);
    void wllama.loadModel([new Blob(['GGUF'])], { n_threads: 2 });
  });
  createUrl.mockRestore();
  return { worker: (await scripts[0]?.text()) ?? '', thread: await thread.text() };
}

test("the file holds llama.cpp's script as the package starts it", async () => {
  const file = wllamaWorker(entry);
  const { worker, thread } = await packageScripts();
  // `const RUN_OPTIONS = …;`, the function with Emscripten's script, the worker's own script.
  const [options = '', ...rest] = worker.split(';\n\n');
  expect(options).toMatch(
    /^const RUN_OPTIONS = \{"pathConfig":\{"wllama.wasm":.*"nbThread":2,"compat":false\}/,
  );
  const body = rest.join(';\n\n');
  const stub = /WebAssembly\.promising[\s\S]*?\n\}\n/.exec(body);
  const emscripten = body.slice(
    (stub?.index ?? 0) + (stub?.[0].length ?? 0),
    body.indexOf('; return Module; };'),
  );
  expect(emscripten.length).toBeGreaterThan(100_000);
  expect(file).toContain(emscripten);
  expect(thread).toContain(emscripten.replace('var ___Module', 'var Module'));
  const own = body.slice(body.indexOf('// Start the main llama.cpp'));
  expect(own).toContain('onmessage = async');
  expect(file).toContain(own.trimEnd());
});

/** Runs the script as a worker of that name. @returns what then takes its messages */
function handlerOf(script: string, name: string): string {
  const scope = {
    name,
    URL,
    TextDecoder,
    performance,
    WebAssembly,
    location: { href: 'https://site.example/w.js', origin: 'https://site.example' },
    navigator: { hardwareConcurrency: 4 },
    WorkerGlobalScope: EventTarget,
    addEventListener: () => undefined,
    postMessage: () => undefined,
    fetch: () => new Promise(() => undefined),
  };
  const context = createContext(scope);
  runInContext(`globalThis.self = globalThis; ${script}`, context);
  return String(runInContext('self.onmessage', context));
}

test.each([undefined, compat])(
  'the file is the script of the worker and of its threads (compat: %s)',
  (build) => {
    const script = wllamaWorker(entry, build);
    const options = {
      pathConfig: { 'wllama.wasm': 'https://site.example/w.wasm' },
      nbThread: 2,
      compat: false,
    };
    expect(handlerOf(script, JSON.stringify(options))).toContain('module.init');
    expect(handlerOf(script, 'em-pthread')).toContain('handleMessage');
  },
);

/** An empty `std::list` at this address of a memory, then the bytes and the tokens that the cache may hold. */
function memoryWithCache(address: number, bytes: bigint, tokens: bigint): WebAssembly.Memory {
  const memory = new WebAssembly.Memory({ initial: 1 });
  const self = BigInt(address);
  new BigUint64Array(memory.buffer, address, 5).set([self, self, 0n, bytes, tokens]);
  return memory;
}

/** Runs the worker's own function on a memory. */
function limitPromptStates(memory: WebAssembly.Memory, contextLength: number): unknown {
  const script = /function limitPromptStates[\s\S]*?\n\}/.exec(wllamaWorker(entry))?.[0];
  return runInContext(
    `${script}; limitPromptStates(${contextLength})`,
    createContext({ Module: { wasmMemory: memory } }),
  );
}

test.each([
  { name: 'the cache of this context', bytes: 1n << 33n, tokens: 8192n, found: true },
  { name: 'a context that llama.cpp has rounded up', bytes: 1n << 33n, tokens: 8448n - 1n, found: true },
  { name: 'another number of bytes', bytes: 1n << 32n, tokens: 8192n, found: false },
  { name: 'another context', bytes: 1n << 33n, tokens: 4096n, found: false },
])("llama.cpp's limit of saved prompt states is found: $name", ({ bytes, tokens, found }) => {
  const address = 4096 + 8;
  const memory = memoryWithCache(address, bytes, tokens);
  expect(limitPromptStates(memory, 8192)).toBe(found);
  const [limit] = new BigUint64Array(memory.buffer, address + 24, 1);
  expect(limit).toBe(found ? 0n : bytes);
});

/**
 * A memory with the list of four slots: its begin, end and capacity, in words of so many bytes; each slot begins with its
 * number and the address of the context.
 */
function memoryWithSlots(width: 4 | 8, numbers: readonly number[], contexts: readonly number[]): ArrayBuffer {
  const [list, slots, size] = [4096, 16_384, 1024];
  const buffer = new ArrayBuffer(65_536);
  const view = new DataView(buffer);
  [slots, slots + 4 * size, slots + 8 * size].forEach((address, index) =>
    view.setUint32(list + index * width, address, true),
  );
  numbers.forEach((number, index) => {
    view.setUint32(slots + index * size, number, true);
    view.setUint32(slots + index * size + width, contexts[index] ?? 0, true);
  });
  return buffer;
}

test.each([
  { name: 'a list of four slots', numbers: [0, 1, 2, 3], contexts: [800, 800, 800, 800], found: true },
  { name: 'other numbers', numbers: [0, 1, 2, 4], contexts: [800, 800, 800, 800], found: false },
  { name: 'no context', numbers: [0, 1, 2, 3], contexts: [0, 0, 0, 0], found: false },
  { name: 'several contexts', numbers: [0, 1, 2, 3], contexts: [800, 800, 808, 800], found: false },
])("llama.cpp's slots are found, in memory of 64 and 32 bits: $name", ({ numbers, contexts, found }) => {
  for (const width of [8, 4] as const) {
    const script = /function findSlots[\s\S]*?\n\}/.exec(wllamaWorker(entry))?.[0];
    const buffer = memoryWithSlots(width, numbers, contexts);
    const context = createContext({ isCompat: width === 4, Module: { wasmMemory: { buffer } } });
    const end = (4096 + width) / 4;
    expect(runInContext(`${script}; findSlots(4)`, context)).toEqual(
      found ? { end, begin: 16_384, past: 20_480 } : null,
    );
  }
});
