import { delay } from '../protocol/abort.ts';
import { DEPARTURE_CHANNEL, type LeaderExit } from '../protocol/discovery.ts';
import type { EngineMessage } from '../protocol/engine-port.ts';
import type { ErrorCode } from '../protocol/error-codes.ts';
import { leaderLock } from '../protocol/locks.ts';
import { PROTOCOL_VERSION } from '../protocol/version.ts';
import type { WireError } from '../protocol/wire-error.ts';
import type { EngineWorker } from './engine-worker.ts';
import type { EngineSettings } from './engine-settings.ts';
import { WorkerBlockedError } from './worker-blocked-error.ts';

/** A worker that lived shorter than this is followed by the next one only after a pause. */
const SHORT_LIFE_MS = 5000;
const MAX_PAUSE_MS = 10_000;
const FAILURES_TO_REPORT = 2;

/** This tab's part in the election: it queues for the lock, and while it leads it owns the engine worker. */
export class ElectionMember extends EventTarget {
  readonly scope: string;
  readonly #settings: EngineSettings;
  #worker: EngineWorker | null = null;
  #leading = false;
  /** Ports that came before the worker had started. */
  #early: MessagePort[] = [];
  #failures = 0;
  /** What requests are told while the worker does not start. */
  #failure: WireError | null = null;

  constructor(scope: string, settings: EngineSettings) {
    super();
    this.scope = scope;
    this.#settings = settings;
  }

  get leading(): boolean {
    return this.#leading;
  }

  /** Takes part until aborted. Dispatches `change` when leading begins or ends, and when a worker comes or goes. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      await navigator.locks.request(leaderLock(this.scope), { signal }, async () => {
        this.#leading = true;
        this.#changed();
        while (!signal.aborted) await this.#ownWorker(signal);
        this.#leading = false;
        // Those who wait ask again, and then the next leader.
        for (const port of this.#early.splice(0)) port.close();
        this.#changed();
      });
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** Takes a request's port, and closes it when this tab does not lead. */
  serve(port: MessagePort, version: number): void {
    if (!this.#leading) port.close();
    else if (version !== PROTOCOL_VERSION) refuse(port, versionMismatch);
    else if (this.#worker) this.#worker.serve(port);
    else if (this.#failure) refuse(port, this.#failure);
    else this.#early.push(port);
  }

  async #ownWorker(signal: AbortSignal): Promise<void> {
    const startedAt = performance.now();
    let worker: EngineWorker | null = null;
    try {
      // Only the tab that leads fetches it.
      const { spawnEngineWorker } = await import('./engine-worker.ts');
      worker = await spawnEngineWorker(this.scope, this.#settings, signal);
      this.#failures = 0;
      this.#failure = null;
      this.#worker = worker;
      for (const port of this.#early.splice(0)) worker.serve(port);
      this.#changed();
      const { epoch } = worker;
      await Promise.race([worker.gone, whenAborted(signal, () => announceDeparture(epoch))]);
    } catch (error) {
      if (signal.aborted) return;
      this.#failures += 1;
      console.error('localtext: the engine worker did not start', error);
      if (error instanceof WorkerBlockedError) this.#failure = serverError('worker_blocked', error.message);
      else if (this.#failures >= FAILURES_TO_REPORT) this.#failure = workerFailed;
      if (this.#failure) for (const port of this.#early.splice(0)) refuse(port, this.#failure);
    } finally {
      this.#worker = null;
      worker?.terminate();
      this.#changed();
    }
    if (signal.aborted || performance.now() - startedAt > SHORT_LIFE_MS) return;
    const pauseMs = Math.min(250 * 2 ** this.#failures, MAX_PAUSE_MS);
    await delay(pauseMs, signal).catch(() => undefined);
  }

  #changed(): void {
    this.dispatchEvent(new Event('change'));
  }
}

/** `first` is called as it aborts: a page that closes runs no further task. */
const whenAborted = (signal: AbortSignal, first: () => void): Promise<void> =>
  new Promise((resolve) => {
    const finish = (): void => {
      first();
      resolve();
    };
    if (signal.aborted) finish();
    else signal.addEventListener('abort', finish, { once: true });
  });

function announceDeparture(epoch: string): void {
  const channel = new BroadcastChannel(DEPARTURE_CHANNEL);
  channel.postMessage({ epoch } satisfies LeaderExit);
  channel.close();
}

function refuse(port: MessagePort, error: WireError): void {
  port.postMessage({ type: 'error', error } satisfies EngineMessage);
  port.close();
}

const serverError = (code: ErrorCode, message: string): WireError => ({
  status: 500,
  type: 'server_error',
  code,
  param: null,
  message,
});

const versionMismatch = serverError(
  'protocol_mismatch',
  'The tabs of this site and its service worker run different versions. Reload every tab of this site, and try again.',
);

const workerFailed = serverError(
  'engine_worker_failed',
  "The engine's worker could not be started. The console of the site's first tab says why; reload that tab, and try again.",
);
