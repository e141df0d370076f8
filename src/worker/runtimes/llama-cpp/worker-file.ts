import type { Wllama } from '@wllama/wllama';

import { openWorker } from '../../open-worker.ts';
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
