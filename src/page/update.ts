import { messageSW } from 'workbox-window';

import {
  requestsRun,
  scopeOf,
  PROTOCOL_VERSION,
  type PageToServiceWorker,
  type ServiceWorkerReply,
} from '#protocol';
import { abortable, delay, withTimeout } from '#base';
import { startErrors } from './load-chunk.ts';
import { LocaltextError } from './localtext-error.ts';

export const REPLY_MS = 10_000;

/**
 * @throws LocaltextError when the service worker refuses, speaks another version, or does not answer in 10 s
 */
export async function tellServiceWorker(
  worker: ServiceWorker,
  message: PageToServiceWorker,
): Promise<Extract<ServiceWorkerReply, { type: 'ok' }>> {
  const answered = messageSW(worker, message) as Promise<ServiceWorkerReply>;
  const reply = await withTimeout(answered, REPLY_MS);
  if (!reply) throw (await startErrors()).doesNotAnswer();
  if (reply.version !== PROTOCOL_VERSION) throw (await startErrors()).otherVersion();
  if (reply.type === 'error')
    throw new LocaltextError(reply.error.code ?? 'service_worker_failed', reply.error.message);
  return reply;
}

/** The version of this page's own build, if it is newer than the active one. */
let own: ServiceWorker | null = null;

/** Takes note that the server has just sent this page: the version that the server has now is the page's own. */
export async function noteOwnVersion(registration: ServiceWorkerRegistration): Promise<void> {
  const note = (): void => void (own = registration.installing ?? registration.waiting ?? own);
  note();
  await registration.update().then(note, () => {});
}

/** Whether a version newer than this page waits to take over. */
export const updateWaits = ({ waiting }: ServiceWorkerRegistration): boolean =>
  waiting !== null && waiting !== own;

const POLL_INTERVAL_MS = 250;

/**
 * Lets the waiting version take over once no request runs in any tab. Resolves to false when none waits.
 * Pages keep the library that they were loaded with: reload them afterwards.
 */
export async function applyUpdate(
  registration: ServiceWorkerRegistration,
  signal: AbortSignal,
): Promise<boolean> {
  const scope = scopeOf(registration.scope);
  for (let found = false; ; found = true) {
    const isBusy = await requestsRun(navigator.locks, scope);
    signal.throwIfAborted();
    // A newer version may have replaced the waiting one, or another tab has activated it.
    const { waiting } = registration;
    if (!waiting) return found;
    if (!isBusy) {
      const stateChange = new Promise<void>((resolve) => {
        waiting.addEventListener('statechange', () => /activated|redundant/.test(waiting.state) && resolve());
      });
      try {
        const reply = tellServiceWorker(waiting, { type: 'localtext:skip-waiting' });
        await abortable(Promise.race([stateChange, reply.then(() => stateChange)]), signal);
        if (waiting.state === 'activated') return true;
      } catch (error) {
        if (!(error instanceof LocaltextError) || error.code !== 'requests_running') throw error;
      }
    }
    await delay(POLL_INTERVAL_MS, signal);
  }
}
