import { messageSW } from 'workbox-window';

import type { PageToServiceWorker, ServiceWorkerReply } from '../protocol/discovery.ts';
import { requestsRun, scopeOf } from '../protocol/locks.ts';
import { PROTOCOL_VERSION } from '../protocol/version.ts';
import { abortable, delay, withTimeout } from '../util/async.ts';
import { LocaltextError } from './localtext-error.ts';

export const REPLY_MS = 10_000;

/** @throws LocaltextError when it refuses, speaks another version, or does not answer in 10 s. */
export async function tellServiceWorker(worker: ServiceWorker, message: PageToServiceWorker): Promise<void> {
  const answered = messageSW(worker, message) as Promise<ServiceWorkerReply>;
  const reply = await withTimeout(answered, REPLY_MS);
  if (!reply) {
    throw new LocaltextError(
      'service_worker_failed',
      'The service worker did not answer in 10 s. Reload the page.',
    );
  }
  if (reply.version !== PROTOCOL_VERSION) {
    throw new LocaltextError(
      'protocol_mismatch',
      'The page and its service worker are of different versions. Reload every tab of this site.',
    );
  }
  if (reply.type === 'error')
    throw new LocaltextError(reply.error.code ?? 'service_worker_failed', reply.error.message);
}

const POLL_INTERVAL_MS = 250;

/**
 * Lets the waiting version take over once no request runs in any tab. False when none waits.
 * Pages keep the library they were loaded with: reload them afterwards.
 */
export async function applyUpdate(
  registration: ServiceWorkerRegistration,
  signal: AbortSignal,
): Promise<boolean> {
  const { waiting } = registration;
  if (!waiting) return false;
  const activated = new Promise<void>((resolve) => {
    waiting.addEventListener('statechange', () => waiting.state === 'activated' && resolve());
  });
  for (;;) {
    signal.throwIfAborted();
    if (!(await requestsRun(navigator.locks, scopeOf(registration.scope)))) {
      try {
        await tellServiceWorker(waiting, { type: 'localtext:skip-waiting' });
        break;
      } catch (error) {
        if (!(error instanceof LocaltextError) || error.code !== 'requests_running') throw error;
      }
    }
    await delay(POLL_INTERVAL_MS, signal);
  }
  await abortable(activated, signal);
  return true;
}
