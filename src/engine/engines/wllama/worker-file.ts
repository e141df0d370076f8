import type { Wllama } from '@wllama/wllama';

import { workerBlocked } from '../../worker/blocked-worker.ts';
import { type EngineError, serverError } from '../../../protocol/engine-error.ts';
import { onBlockedWorker } from '../../../protocol/policy-violations.ts';
import { trustedScriptUrl } from '../../../protocol/trusted-urls.ts';
import { runTask, type ModelFile, type WorkerProxy } from './worker-proxy.ts';

/**
 * Makes a `Wllama` start its worker, and that its threads, from a file of this origin: the package's own way is a `blob:`
 * URL, which a Content-Security-Policy with `worker-src 'self'` refuses.
 * @param urlOf the URL of an engine's own file
 */
export function useWorkerFile(wllama: Wllama, urlOf: (name: string) => string): void {
  let current: WorkerProxy | null = null;
  Object.defineProperty(wllama, 'proxy', {
    get: () => current,
    set(proxy: WorkerProxy | null) {
      current = proxy;
      if (proxy) proxy.moduleInit = (files) => start(proxy, files, urlOf);
    },
  });
}

/** What the package's `moduleInit` does, but for where the script comes from. */
async function start(proxy: WorkerProxy, files: ModelFile[], urlOf: (name: string) => string): Promise<void> {
  const { compat, wasmPath, noWebGPU = false } = proxy.resources;
  const options = { pathConfig: { 'wllama.wasm': wasmPath }, nbThread: proxy.nbThread, compat, noWebGPU };
  const url = urlOf(compat ? 'wllama-compat.js' : 'wllama-worker.js');
  proxy.worker = openWorker(url, { type: 'module', name: JSON.stringify(options) }, (error) => {
    for (const { reject } of [...proxy.resultQueue.splice(0), ...proxy.taskQueue.splice(0)]) reject(error);
  });
  proxy.worker.onmessage = (event) => proxy.onRecvMsg(event);
  await runTask(proxy, 'module.init', [url, proxy.useAsyncFile]);
  const ids: number[] = [];
  for (const { name, blob } of files) {
    ids.push(await proxy.fileAlloc(name, blob.size, !proxy.useAsyncFile));
    if (proxy.useAsyncFile) proxy.fileBlobs.set(name, blob);
  }
  if (proxy.useAsyncFile) return;
  await Promise.all(files.map(({ blob }, index) => proxy.fileWrite(ids[index] ?? 0, blob)));
}

/** @param onFailure told when it cannot start, may start no threads or fails: who calls it would wait without a time limit */
export function openWorker(
  url: string,
  options: WorkerOptions,
  onFailure: (error: EngineError) => void,
): Worker {
  const here = new AbortController();
  const { signal } = here;
  const fail = (error: EngineError): void => {
    here.abort();
    onFailure(error);
  };
  onBlockedWorker((directive) => fail(workerBlocked(url, directive)), signal);
  let worker: Worker;
  try {
    worker = new Worker(trustedScriptUrl(url), options);
  } catch (error) {
    here.abort();
    throw workerBlocked(url, "require-trusted-types-for 'script'", error);
  }
  worker.addEventListener(
    'message',
    ({ data }: MessageEvent<{ verb?: string; args: string[] } | null>) => {
      if (data?.verb === 'localtext.blocked') fail(workerBlocked(url, data.args[0] ?? ''));
    },
    { signal },
  );
  // Also of a script that a policy refuses: that is told first.
  worker.addEventListener(
    'error',
    (event) => setTimeout(() => signal.aborted || fail(notStarted(url, event))),
    {
      signal,
    },
  );
  return worker;
}

function notStarted(url: string, event: Event): EngineError {
  const { pathname } = new URL(url);
  const why = event instanceof ErrorEvent && event.message;
  return serverError(
    why ? 'engine_crashed' : 'worker_blocked',
    why
      ? 'The engine stopped on an internal error. Try again: the next request reloads it.'
      : `The browser did not start the worker ${pathname.split('/').at(-1)}. Check that the server sends it with status 200, a JavaScript type and, in an isolated page, Cross-Origin-Embedder-Policy; then reload the page.`,
  );
}
