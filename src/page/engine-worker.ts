import type { WorkerControl } from '../protocol/control.ts';
import type { ServePort } from '../protocol/discovery.ts';
import { engineLock } from '../protocol/locks.ts';
import { PROTOCOL_VERSION } from '../protocol/version.ts';
import type { EngineSettings } from './start-options.ts';

const START_MS = 30_000;

/** A worker that has started and takes ports. */
export interface EngineWorker {
  epoch: string;
  serve(port: MessagePort): void;
  /** Resolves when it has died, however it did. */
  gone: Promise<void>;
  terminate(): void;
}

/**
 * @throws Error when the worker's script cannot be loaded or does not start; the signal's reason when aborted
 *   meanwhile.
 */
export async function spawnEngineWorker(
  { workerUrl, ...settings }: EngineSettings,
  signal: AbortSignal,
): Promise<EngineWorker> {
  const [comlink, catalog] = await Promise.all([
    import('comlink'),
    settings.catalog ?? import('../catalog/default-catalog.ts').then((module) => module.defaultCatalog),
  ]);
  signal.throwIfAborted();
  const epoch = crypto.randomUUID();
  // Written out twice, as bundlers look for these very words.
  const worker =
    workerUrl === null
      ? new Worker(new URL('../engine/worker.ts', import.meta.url), {
          type: 'module',
          name: 'localtext-engine',
        })
      : new Worker(workerUrl, { type: 'module', name: 'localtext-engine' });
  const control = comlink.wrap<WorkerControl>(worker);
  const started = new AbortController();
  try {
    await Promise.race([
      control.start({ ...settings, version: PROTOCOL_VERSION, epoch, catalog }),
      failure(worker, AbortSignal.any([signal, AbortSignal.timeout(START_MS)]), started.signal),
    ]);
  } catch (error) {
    worker.terminate();
    throw error;
  } finally {
    started.abort();
  }
  return {
    epoch,
    serve: (port) => worker.postMessage({ type: 'localtext:serve' } satisfies ServePort, [port]),
    gone: navigator.locks.request(engineLock(epoch), { mode: 'shared' }, () => {}),
    terminate() {
      control[comlink.releaseProxy]();
      worker.terminate();
    },
  };
}

/** A pending Comlink call never settles when its worker cannot start: this does instead. */
function failure(worker: Worker, given: AbortSignal, started: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const fail = (event: Event): void => {
      const reason = event instanceof ErrorEvent && event.message;
      reject(new Error(reason || 'its script could not be loaded; start({ workerUrl }) names another place'));
    };
    const options = { once: true, signal: started };
    worker.addEventListener('error', fail, options);
    worker.addEventListener('messageerror', fail, options);
    given.addEventListener('abort', () => reject(given.reason), options);
  });
}
