import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

/** Without JSPI, WASM imports and exports stay as they are: the package's own stub, in the same words. */
const JSPI_STUB = `
if (!WebAssembly.Suspending) {
  WebAssembly.Suspending = function (fn) { return fn; };
  WebAssembly.promising = function (fn) {
    return function (...args) {
      try { return Promise.resolve(fn(...args)); } catch (e) { return Promise.reject(e); }
    };
  };
}`;

/** Its threads start from this same file, under Trusted Types too. */
const TRUSTED_THREADS = `
if (self.trustedTypes) {
  const own = (url) => {
    if (new URL(url, location.href).origin === location.origin) return url;
    throw new TypeError('localtext starts workers from its own origin only');
  };
  try {
    const policy = trustedTypes.createPolicy('localtext', { createScriptURL: own });
    self.Worker = class extends Worker {
      constructor(url, options) { super(policy.createScriptURL(String(url)), options); }
    };
  } catch {}
}`;

/**
 * Bounds llama.cpp's cache of prompt states to as many tokens as the context holds. Its server allows 8 GiB, and the
 * package has no parameter for it. Before the first prompt the cache is an empty `std::list` (two self-pointers, a size),
 * then the bytes and tokens allowed. Without a limit in bytes, the one in tokens applies.
 */
const STATE_LIMIT = `
function limitPromptStates(contextLength) {
  const words = new Uint32Array(Module.wasmMemory.buffer);
  const end = words.length - 10;
  for (let at = 0; at < end; at += 2) {
    if (words[at + 7] !== 2 || words[at] !== 4 * at || words[at + 2] !== 4 * at) continue;
    if (words[at + 1] || words[at + 3] || words[at + 4] || words[at + 5] || words[at + 6]) continue;
    const tokens = words[at + 8];
    if (words[at + 9] || tokens < contextLength || tokens >= contextLength + 256) continue;
    words[at + 7] = 0;
    return true;
  }
  return false;
}
addEventListener('message', ({ data }) => {
  if (data?.verb !== 'localtext.limit-states') return;
  postMessage({ callbackId: data.callbackId, result: limitPromptStates(data.args[0]) });
});`;

/**
 * Takes a result that waits, without a step. The package's `get_result` always computes a token for every slot before it
 * hands out one result; while the server's list of slots looks empty, it computes nothing. The list is a `std::vector`
 * (begin, end, capacity). Each slot in it begins with its number and the address of the context that all share.
 */
const TAKE_RESULT = `
let slots = null;
function findSlots(count) {
  const words = new Uint32Array(Module.wasmMemory.buffer);
  const width = isCompat ? 1 : 2;
  const end = words.length - 3 * width;
  for (let at = 0; at < end; at += width) {
    const begin = words[at];
    const past = words[at + width];
    const size = (past - begin) / count;
    if (!(size >= 512) || size % 8 || begin % 8 || past > words[at + 2 * width] || past > 4 * words.length) continue;
    if (!isCompat && (words[at + 1] || words[at + 3] || words[at + 5])) continue;
    const context = words[begin / 4 + width];
    let slot = 0;
    for (let first = begin / 4; slot < count && context > 0; slot++, first += size / 4)
      if (words[first] !== slot || words[first + width] !== context) break;
    if (slot === count) return { end: at + width, begin, past };
  }
  return null;
}
async function takeResult(data) {
  const setEnd = (value) => { new Uint32Array(Module.wasmMemory.buffer)[slots.end] = value; };
  setEnd(slots.begin);
  try { await runAction(data); } finally { setEnd(slots.past); }
}
addEventListener('message', ({ data }) => {
  if (data?.verb === 'localtext.find-slots') {
    slots = findSlots(data.args[0]);
    postMessage({ callbackId: data.callbackId, result: slots !== null });
  } else if (data?.verb === 'localtext.take-result') {
    runWasmCall(data.callbackId, () => takeResult(data));
  }
});`;

/** A thread runs Emscripten's script at once. The worker itself reports what a policy refuses: Emscripten would wait. */
const START = `
if (self.name.startsWith('em-pthread')) { onmessage = null; Module = {}; wModuleInit(); }
else {
  addEventListener('securitypolicyviolation', ({ effectiveDirective }) => {
    if (effectiveDirective === 'worker-src') postMessage({ verb: 'localtext.blocked', args: [effectiveDirective] });
  });
  ${STATE_LIMIT}
  ${TAKE_RESULT}
}`;

/** Keeps ggml from looking for a GPU. */
const NO_GPU =
  'try{Object.defineProperty(WorkerNavigator.prototype,"gpu",{get:()=>({requestAdapter:async()=>null})});}catch(e){}';

/**
 * llama.cpp's worker as a file. The package starts the same text from a `blob:` URL, which `worker-src 'self'` refuses.
 * `RUN_OPTIONS` come as the worker's name: a service worker's answer loses the URL's fragment, and a query would miss its
 * cache. The file is also the script of llama.cpp's threads (`em-pthread`).
 * @param entry the package's entry point, `…/esm/index.js`
 * @param compat the script of `@wllama/wllama-compat`, for that build in place of the main one
 */
export function wllamaWorker(entry: string, compat?: string): string {
  const texts = readFileSync(resolve(entry, '../../src/workers-code/generated.ts'), 'utf8');
  const llamaCpp = constant(texts, 'LLAMA_CPP_WORKER_CODE');
  const emscripten =
    compat === undefined ? constant(texts, 'WLLAMA_EMSCRIPTEN_CODE') : readFileSync(compat, 'utf8');
  return [
    '// @wllama/wllama (MIT): github.com/ngxson/wllama',
    "const RUN_OPTIONS = self.name.startsWith('em-pthread') ? {} : JSON.parse(self.name);",
    TRUSTED_THREADS,
    JSPI_STUB,
    `if (RUN_OPTIONS.noWebGPU) { ${NO_GPU} }`,
    `function wModuleInit() { ${emscripten.replace('var Module', 'var ___Module')}; return Module; }`,
    llamaCpp,
    START,
    '',
  ].join('\n;\n');
}

/** A string constant of the package's generated source, which is JSON after the equals sign. */
function constant(text: string, name: string): string {
  const found = new RegExp(`^export const ${name} = (".*");$`, 'm').exec(text)?.[1];
  if (found === undefined) throw new Error(`@wllama/wllama has no ${name}: install its version 3.8.1.`);
  return JSON.parse(found) as string;
}
