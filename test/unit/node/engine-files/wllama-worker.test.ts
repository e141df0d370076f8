import { createRequire } from 'node:module';
import { createContext, runInContext } from 'node:vm';

import { Wllama } from '@wllama/wllama/esm/index.js';
import { expect, test, vi } from 'vitest';

import { noCache } from '../../../../src/llama/open-llama.ts';
import { wllamaWorker } from '../../../../src/node/engine-files/wllama-worker.ts';

const installed = createRequire(import.meta.url).resolve;
const entry = installed('@wllama/wllama/esm/index.js');
const compat = installed('@wllama/wllama-compat/wasm/wllama.js');

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
  const file = await wllamaWorker(entry);
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
function handlerOf(
  script: string,
  name: string,
  postMessage: (message: unknown) => void = () => undefined,
): string {
  const scope = {
    name,
    URL,
    AbortController,
    TextDecoder,
    performance,
    WebAssembly,
    location: { href: 'https://site.example/w.js', origin: 'https://site.example' },
    navigator: { hardwareConcurrency: 4 },
    WorkerGlobalScope: EventTarget,
    addEventListener: () => undefined,
    postMessage,
    fetch: () => new Promise(() => undefined),
  };
  const context = createContext(scope);
  runInContext(`globalThis.self = globalThis; ${script}`, context);
  return String(runInContext('self.onmessage', context));
}

test.each([undefined, compat])(
  'the file is the script of the worker and of its threads (compat: %s)',
  async (build) => {
    const script = await wllamaWorker(entry, build);
    const options = {
      pathConfig: { 'wllama.wasm': 'https://site.example/w.wasm' },
      nbThread: 2,
      compat: false,
    };
    expect(handlerOf(script, JSON.stringify(options))).toContain('module.init');
    expect(handlerOf(script, 'em-pthread')).toContain('handleMessage');
  },
);

test.each(['0123abcd', undefined])('the worker says which kernels its WASM has (%s)', async (kernels) => {
  const script = await wllamaWorker(entry, undefined, kernels);
  const messages: unknown[] = [];
  handlerOf(script, JSON.stringify({ pathConfig: {}, nbThread: 0, compat: false }), (message) =>
    messages.push(message),
  );
  expect(messages).toEqual(kernels ? [{ verb: 'localtext.kernels-version', args: [kernels] }] : []);
});
