import { delay } from '../util/async.ts';
import { buildReplaced } from '../errors/engine-errors.ts';
import { serverError, type ServiceError } from '../errors/service-error.ts';
import { sha256 } from '../util/sha256.ts';

/** URLs whose complete file, or whose beginning, was valid in this worker. */
const good = new Set<string>();
const begun = new Set<string>();

/** A cache had a wrong answer under the file's name, which is now replaced: the engine can be started again. */
export class FileReplaced extends Error {}

/** An engine that has not started by then may be waiting forever. */
const START_TIMEOUT_MS = 5000;

/**
 * Watches over the start of an engine that waits forever for a file that is missing or broken: the beginning is looked at
 * at once; all of it, which keeps this thread, when the start takes long. Abort it when the engine is there.
 * @throws ServiceError `model_load_failed`
 */
export async function watchWasm(url: string, signal: AbortSignal): Promise<void> {
  if (!begun.has(url)) await pastCaches(url, signal, (cache) => read(url, signal, cache));
  begun.add(url);
  await delay(START_TIMEOUT_MS, signal);
  await checkWasm(url, signal);
}

/**
 * Resolves when the file at the URL is the WASM that its name says, and this browser can run it.
 * @throws ServiceError `model_load_failed`
 */
export async function checkWasm(url: string, signal: AbortSignal): Promise<void> {
  if (good.has(url)) return;
  await pastCaches(url, signal, async (cache) => {
    const bytes = await read(url, signal, cache);
    if (!WebAssembly.validate(bytes)) throw engineFileError(url, 'is cut short, or too new for this browser');
    if (!(await isNamed(url, bytes))) throw engineFileError(url, 'is another file than its name says');
  });
  good.add(url);
}

/** Whether the hash in the file's name, where it has one, is that of the bytes. An engine can wait forever in another file. */
async function isNamed(url: string, bytes: ArrayBuffer): Promise<boolean> {
  const [, hash = ''] = /-([\da-f]{8})\.wasm$/.exec(new URL(url).pathname) ?? [];
  return (await sha256(new Uint8Array(bytes))).startsWith(hash);
}

/**
 * Fetches a file once more past all caches where it is wrong, as a wrong answer may be stored.
 * @throws FileReplaced when it is right then; ServiceError `build_replaced` when the server has another build
 */
async function pastCaches<T>(
  url: string,
  signal: AbortSignal,
  attempt: (cache: RequestCache) => Promise<T>,
): Promise<T> {
  try {
    return await attempt('default');
  } catch {
    signal.throwIfAborted();
  }
  // Both at once: the engine's own failure, which says less, must not come first.
  const [again, isEarlier] = await Promise.allSettled([attempt('reload'), isOfEarlierBuild(url)]);
  if (again.status === 'rejected') {
    const isReplaced = isEarlier.status === 'fulfilled' && isEarlier.value;
    throw isReplaced ? buildReplaced(again.reason) : again.reason;
  }
  throw new FileReplaced('A cache had a wrong file of the engine, which has been fetched again.');
}

async function read(url: string, signal: AbortSignal, cache: RequestCache): Promise<ArrayBuffer> {
  const bytes = await fetchFile(url, { signal, cache }, (response) => response.arrayBuffer());
  const [a, b, c, d] = new Uint8Array(bytes, 0, Math.min(4, bytes.byteLength));
  if (a !== 0 || b !== 0x61 || c !== 0x73 || d !== 0x6d)
    throw engineFileError(url, 'is not a WebAssembly file');
  return bytes;
}

/** Reads an engine's script. Some servers answer a missing one with a web page. @throws ServiceError `model_load_failed` */
export async function readScript(url: string, signal: AbortSignal): Promise<string> {
  return pastCaches(url, signal, async (cache) => {
    const text = await fetchFile(url, { signal, cache }, (response) => response.text());
    if (/^\s*(<|$)/.test(text)) throw engineFileError(url, 'is not a script');
    return text;
  });
}

/** @returns the fault of the file that kept it from starting as a worker; `error` if the file has none */
export async function scriptFault(url: string, error: Error): Promise<Error> {
  const signal = AbortSignal.timeout(START_TIMEOUT_MS);
  try {
    await readScript(url, signal);
    // A service worker may have it from before the host isolated its pages.
    if (globalThis.crossOriginIsolated)
      await pastCaches(url, signal, (cache) => requireEmbedderPolicy(url, { signal, cache }));
  } catch (fault) {
    if (!signal.aborted && fault instanceof Error) return fault;
  }
  return error;
}

const requireEmbedderPolicy = (
  url: string,
  init: { signal: AbortSignal; cache: RequestCache },
): Promise<void> =>
  fetchFile(url, init, async ({ headers }) => {
    if (!headers.has('cross-origin-embedder-policy'))
      throw engineFileError(url, 'came without Cross-Origin-Embedder-Policy, and this page is isolated');
  });

async function fetchFile<T>(
  url: string,
  init: { signal: AbortSignal; cache: RequestCache },
  readBody: (response: Response) => Promise<T>,
): Promise<T> {
  let response: Response;
  try {
    response = await fetch(url, init);
    if (response.ok) return await readBody(response);
  } catch (error) {
    init.signal.throwIfAborted();
    throw unreachable(url, error);
  }
  throw engineFileError(url, `could not be downloaded: the server answered ${response.status}`);
}

/** Error where no server has answered at all. */
function unreachable(url: string, cause: unknown): ServiceError {
  const name = new URL(url).pathname.split('/').at(-1);
  const message = `The engine's file ${name} is not stored in this browser, and it could not be fetched: the network or the site's server is not reachable. Connect to the network and try again.`;
  return serverError('model_load_failed', message, cause);
}

export function engineFileError(url: string, how: string, cause?: unknown): ServiceError {
  const { pathname } = new URL(url);
  const message = `The engine's file ${pathname.split('/').at(-1)} ${how}. Put the files of the wasm folder back in place, or name it by wasmUrl, and reload the page.`;
  return serverError('model_load_failed', message, cause);
}

/** Lists localtext's files of the build that the server has. The Vite plugin and `localtext init` write it beside the service worker. */
const LIST = 'localtext-sw-files.js';

/** Folder of the service worker. */
let siteFolder: URL | null = null;

/** Names the app, whose engine files may be elsewhere than beside its service worker (`wasmUrl`). */
export function setAppScope(scope: string): void {
  siteFolder = new URL(scope, location.href);
}

/** Whether the server, which did not answer with this file of an engine, has a build without it. */
async function isOfEarlierBuild(url: string): Promise<boolean> {
  const folders = new Set([new URL('../../', url).href, siteFolder?.href]);
  const found = await Promise.all(
    [...folders].map((folder) => folder !== undefined && isLeftOut(folder, url)),
  );
  return found.includes(true);
}

/** Whether the list in this folder has another file in the place of this one. */
async function isLeftOut(folder: string, url: string): Promise<boolean> {
  try {
    const response = await fetch(folder + LIST, { cache: 'no-store' });
    const list = await response.text();
    const isList = list.startsWith('self.') && list.includes('localtext/wasm/');
    return response.ok && isList && !list.includes(new URL(url).pathname.split('/').at(-1) ?? '');
  } catch {
    return false;
  }
}

/** Names with a hash, defined by the Vite plugin in a clone, and when the package is built. */
declare const __LOCALTEXT_WASM__: Readonly<Record<string, string>> | undefined;

/** An engine's file as this build names it: with a hash of its content. */
export const engineFileName = (name: string): string =>
  (typeof __LOCALTEXT_WASM__ === 'undefined' ? undefined : __LOCALTEXT_WASM__[name]) ?? name;
