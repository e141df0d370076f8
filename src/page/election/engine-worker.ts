import type { Catalog } from '#catalog';
import {
  engineLock,
  whenReleased,
  PROTOCOL_VERSION,
  type WorkerControl,
  type WorkerOptions,
  type ServePort,
} from '#protocol';
import { serverError, buildReplaced, abortable, delay, whenStuck, type ServiceError } from '#base';
import { blockedMessage, onBlockedWorker, withTrustedWorkers } from '#browser';
import { loadChunk } from '../load-chunk.ts';
import { pageServices } from '../page-services/page-services.ts';
import { LoadJournal } from './load-journal.ts';

const START_TIMEOUT_MS = 30_000;
/** Time limit for fetching this page, to compare its build, or the worker's script. */
const PAGE_MS = 5000;

const NOT_STARTED =
  "The browser did not start the engine's worker. Reload the page: the site may have a new build. If that does not help, check that its script is served with status 200, a JavaScript type and, in an isolated page, Cross-Origin-Embedder-Policy, or name another place with start({ workerUrl }).";

/** Settings that the engine worker is started with. Every URL is absolute. */
export interface EngineSettings extends Required<
  Pick<WorkerOptions, 'modelsUrl' | 'wasmUrl' | 'sources' | 'prefer' | 'limits' | 'images'>
> {
  /** Catalog; null: the default one. */
  catalog: Catalog | null;
  /** Script of the worker; null: the package's own. */
  workerUrl: string | null;
}

/** A worker that has started and accepts ports. */
export interface EngineWorker {
  epoch: string;
  serve(port: MessagePort): void;
  /** Resolves when the worker has ended for any reason, or has stopped running. */
  gone: Promise<void>;
  /** Resolves when its lock is free: callers then know that it has ended. */
  released: Promise<void>;
  terminate(): void;
}

/** How long the service worker may take to store a script that it has passed on. */
const STORE_MS = 1000;

/**
 * Starts the worker. In an isolated page, a second attempt bypasses the caches: the service worker may have
 * stored the script before the host isolated its pages, without the header that an isolated page requires.
 * @throws as `spawn()` does
 */
export async function spawnEngineWorker(
  scope: string,
  settings: EngineSettings,
  signal: AbortSignal,
): Promise<EngineWorker> {
  let script = '';
  try {
    return await spawn(scope, settings, signal, (url) => (script = url));
  } catch (error) {
    if (!globalThis.crossOriginIsolated || (error as Error).message !== NOT_STARTED) throw error;
    const limit = AbortSignal.any([signal, AbortSignal.timeout(PAGE_MS)]);
    const answer = await fetch(script, { cache: 'reload', signal: limit }).catch(() => null);
    if (!answer?.headers.has('cross-origin-embedder-policy')) throw error;
    await delay(STORE_MS, signal);
    return spawn(scope, settings, signal, () => undefined);
  }
}

/**
 * @param onScript told the URL of the worker's script, which the bundler chooses
 * @throws ServiceError `worker_blocked` when the browser does not run the worker's script; Error when it does
 *   not start; the signal's reason when aborted meanwhile
 */
async function spawn(
  scope: string,
  { workerUrl, ...settings }: EngineSettings,
  signal: AbortSignal,
  onScript: (url: string) => void,
): Promise<EngineWorker> {
  // A GPU's process that this starts, and that crashes, runs again by the time the worker asks.
  const gpuAsked = Date.now();
  void navigator.gpu?.requestAdapter().catch(() => null);
  const modules = Promise.all([
    import('comlink'),
    settings.catalog ?? import('#catalog/default').then((module) => module.defaultCatalog),
  ]);
  const [comlink, catalog] = await abortable(modules, signal);
  signal.throwIfAborted();
  let script = '';
  // Created before anything that must be stopped: it throws if the script is of another origin. Written out
  // twice, because bundlers search for exactly this expression.
  const worker = withTrustedWorkers(
    () =>
      workerUrl === null
        ? new Worker(new URL('../../engine-worker/worker.ts', import.meta.url), {
            type: 'module',
            name: 'localtext-engine',
          })
        : new Worker(workerUrl, { type: 'module', name: 'localtext-engine' }),
    (url) => onScript((script = url)),
  );
  const control = comlink.wrap<WorkerControl>(worker);
  const epoch = crypto.randomUUID();
  const loads = new LoadJournal(scope);
  const started = new AbortController();
  const blocked = whenBlocked(script, started.signal);
  const ended = new AbortController();
  try {
    await Promise.race([
      loadChunk(control.load()).then(() =>
        control.start(
          { ...settings, version: PROTOCOL_VERSION, epoch, scope, catalog, gpuAsked },
          comlink.proxy({ ...pageServices(ended.signal), loads }),
        ),
      ),
      blocked,
      failure(worker, AbortSignal.any([signal, AbortSignal.timeout(START_TIMEOUT_MS)]), started.signal),
    ]);
  } catch (error) {
    loads.stop();
    worker.terminate();
    signal.throwIfAborted();
    throw (await isReplaced(signal)) ? buildReplaced(error) : error;
  } finally {
    started.abort();
  }
  const released = whenReleased(navigator.locks, engineLock(epoch));
  return {
    epoch,
    serve: (port) => worker.postMessage({ type: 'localtext:serve' } satisfies ServePort, [port]),
    released,
    gone: Promise.race([released, whenStuck(() => control.ping(), ended.signal)]),
    terminate() {
      ended.abort();
      loads.stop();
      control[comlink.releaseProxy]();
      worker.terminate();
    },
  };
}

/** Whether the server has another build's page than this one: the Vite plugin marks each build's pages. */
async function isReplaced(leave: AbortSignal): Promise<boolean> {
  const mark = document.querySelector<HTMLMetaElement>('meta[name=localtext-build]')?.content;
  if (mark === undefined) return false;
  const signal = AbortSignal.any([leave, AbortSignal.timeout(PAGE_MS)]);
  const html = await fetch(location.href, { cache: 'reload', signal })
    .then((response) => response.text())
    .catch(() => '');
  return html.includes('name="localtext-build"') && !html.includes(mark);
}

const workerBlocked = (message: string): ServiceError => serverError('worker_blocked', message);

const whenBlocked = (script: string, signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    const report = (directive: string): void =>
      reject(workerBlocked(blockedMessage('localtext-engine', directive)));
    onBlockedWorker(script, report, signal);
  });

/** Rejects when the worker cannot start: a pending Comlink call would never settle. */
const failure = (worker: Worker, signal: AbortSignal, started: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    const fail = (event: Event): void => {
      const reason = event instanceof ErrorEvent && event.message;
      // A policy that refuses the worker is reported in a separate event, which may come after this one.
      setTimeout(() => reject(reason ? new Error(reason) : workerBlocked(NOT_STARTED)), 50);
    };
    const options = { once: true, signal: started };
    worker.addEventListener('error', fail, options);
    worker.addEventListener('messageerror', fail, options);
    signal.addEventListener('abort', () => reject(signal.reason), options);
  });
