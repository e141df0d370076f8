import { delay, buildReplaced, serverError, sha256, withTimeout, type ServiceError } from '#base';

/** URLs of files that this worker has validated whole, and by their first bytes. */
const validFiles = new Set<string>();
const validStarts = new Set<string>();

/** A cache had a wrong response for the file, which has been replaced. The engine can be started again. */
export class FileReplaced extends Error {}

/** Time after which a start may be waiting forever, in milliseconds. */
const START_TIMEOUT_MS = 5000;

const HASH_IN_NAME = /-([\da-f]{8})\.wasm$/;

/**
 * Detects a missing or broken WASM file, for which an engine would wait forever. Checks its first
 * bytes at once, and the whole file only if the start takes long. Abort `signal` when the engine has started.
 * @throws ServiceError `model_load_failed`
 */
export async function watchWasm(url: string, signal: AbortSignal): Promise<void> {
  await checkWasmStart(url, signal);
  await delay(START_TIMEOUT_MS, signal);
  await checkWasm(url, signal);
}

/** Resolves if the file begins as WASM does, or if that is not known in time. @throws as `watchWasm()` does */
export async function checkWasmStart(url: string, signal: AbortSignal): Promise<void> {
  if (validStarts.has(url)) return;
  const check = pastCaches(url, signal, (cache) => checkStart(url, signal, cache));
  const added = check.then(() => validStarts.add(url));
  await withTimeout(added, START_TIMEOUT_MS);
}

/**
 * Resolves if the WASM file matches the hash in its name or, without one, if this browser can run it. WebKit takes seconds of
 * this thread to validate a large file, on a busy machine so many that the worker counts as stuck.
 * @throws ServiceError `model_load_failed`
 */
export async function checkWasm(url: string, signal: AbortSignal): Promise<void> {
  if (validFiles.has(url)) return;
  await pastCaches(url, signal, async (cache) => {
    const bytes = await read(url, signal, cache);
    // With a file of another build an engine can hang.
    const [, hash] = HASH_IN_NAME.exec(new URL(url).pathname) ?? [];
    if (hash !== undefined && !(await sha256(new Uint8Array(bytes))).startsWith(hash))
      throw engineFileError(url, 'does not match the hash in its name');
    if (hash === undefined && !WebAssembly.validate(bytes))
      throw engineFileError(url, 'is truncated, or too new for this browser');
  });
  validFiles.add(url);
}

/**
 * Retries a failed attempt past all caches, as a cache may hold a wrong response.
 * @throws FileReplaced if the retry succeeds; ServiceError `build_replaced` if the server has another build
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
  // In parallel: the engine's own error, which says less, must not arrive first.
  const [retry, isEarlier] = await Promise.allSettled([attempt('reload'), isOfEarlierBuild(url)]);
  if (retry.status === 'rejected') {
    const isReplaced = isEarlier.status === 'fulfilled' && isEarlier.value;
    throw isReplaced ? buildReplaced(retry.reason) : retry.reason;
  }
  throw new FileReplaced('A cache had a wrong copy of an engine file. It has been replaced.');
}

/** Reads only the file's first bytes: the engine reads it whole. A cache replaces its copy by a whole response alone. */
async function checkStart(url: string, signal: AbortSignal, cache: RequestCache): Promise<void> {
  if (cache === 'reload') return void (await read(url, signal, cache));
  const start = await fetchFile(url, { signal, cache }, async ({ body }) => {
    const reader = body?.getReader();
    const bytes: number[] = [];
    while (bytes.length < MAGIC_BYTES) {
      const { value } = (await reader?.read()) ?? {};
      if (!value) break;
      bytes.push(...value.subarray(0, MAGIC_BYTES));
    }
    await reader?.cancel();
    return bytes;
  });
  requireMagic(url, start);
}

const MAGIC_BYTES = 4;

function requireMagic(url: string, [a, b, c, d]: Iterable<number>): void {
  if (a !== 0 || b !== 0x61 || c !== 0x73 || d !== 0x6d)
    throw engineFileError(url, 'is not a WebAssembly file');
}

async function read(url: string, signal: AbortSignal, cache: RequestCache): Promise<ArrayBuffer> {
  const bytes = await fetchFile(url, { signal, cache }, (response) => response.arrayBuffer());
  requireMagic(url, new Uint8Array(bytes));
  return bytes;
}

/** Reads an engine's script. Some servers answer a missing file with a web page. @throws ServiceError `model_load_failed` */
export const readScript = async (url: string, signal: AbortSignal): Promise<string> =>
  pastCaches(url, signal, async (cache) => {
    const text = await fetchFile(url, { signal, cache }, (response) => response.text());
    if (/^\s*(<|$)/.test(text)) throw engineFileError(url, 'is not a script');
    return text;
  });

/** Finds out why a script did not start as a worker. @returns the file's fault; `error` if it has none */
export async function scriptFault(url: string, error: Error): Promise<Error> {
  const signal = AbortSignal.timeout(START_TIMEOUT_MS);
  try {
    await readScript(url, signal);
    // A service worker may hold a copy from before the host isolated its pages.
    if (globalThis.crossOriginIsolated)
      await pastCaches(url, signal, (cache) => requireEmbedderPolicy(url, { signal, cache }));
  } catch (fault) {
    if (!signal.aborted && fault instanceof Error) return fault;
  }
  return error;
}

async function requireEmbedderPolicy(url: string, init: FetchOptions): Promise<void> {
  const headers = await fetchFile(url, init, async (response) => response.headers);
  if (!headers.has('cross-origin-embedder-policy'))
    throw engineFileError(url, 'came without Cross-Origin-Embedder-Policy, and this page is isolated');
}

type FetchOptions = Required<Pick<RequestInit, 'cache'>> & { signal: AbortSignal };

async function fetchFile<T>(
  url: string,
  init: FetchOptions,
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

/** Error for a request that no server answered. */
function unreachable(url: string, cause: unknown): ServiceError {
  const name = new URL(url).pathname.split('/').at(-1);
  const message = `The engine's file ${name} is not stored in this browser, and it could not be fetched: the network or the site's server is not reachable, or an extension of the browser blocks the file. Connect to the network, allow the file, and try again.`;
  return serverError('model_load_failed', message, cause);
}

export function engineFileError(url: string, how: string, cause?: unknown): ServiceError {
  const { pathname } = new URL(url);
  const message = `The engine's file ${pathname.split('/').at(-1)} ${how}. Put the files of the wasm folder back in place, or name it by wasmUrl, and reload the page.`;
  return serverError('model_load_failed', message, cause);
}

/** List of the deployed build's files. The Vite plugin and `localtext init` write it beside the service worker. */
const LIST = 'localtext-sw-files.js';

/** Folder of the service worker. */
let siteFolder: URL | null = null;

/** Sets the app's scope. Its engine files need not be beside its service worker (`wasmUrl`). */
export function setAppScope(scope: string): void {
  siteFolder = new URL(scope, location.href);
}

/** Whether the server now has a build without this engine file, which it failed to serve. */
async function isOfEarlierBuild(url: string): Promise<boolean> {
  const folders = new Set([new URL('../../', url).href, siteFolder?.href]);
  const found = await Promise.all(
    [...folders].map((folder) => folder !== undefined && isLeftOut(folder, url)),
  );
  return found.includes(true);
}

/** Whether the file list in this folder exists and lacks this file. */
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

/** Maps names to names with a hash. Defined by the Vite plugin in a clone, and when the package is built. */
declare const __LOCALTEXT_WASM__: Readonly<Record<string, string>> | undefined;

/** Resolves the name of an engine's file to its name in this build, which has a hash of its content. */
export const engineFileName = (name: string): string =>
  (typeof __LOCALTEXT_WASM__ === 'undefined' ? undefined : __LOCALTEXT_WASM__[name]) ?? name;
