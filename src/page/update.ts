import { delay } from '../util/async.ts';
import { requestsRun, scopeOf } from '../protocol/locks.ts';
import { LocaltextError } from './localtext-error.ts';
import { tellServiceWorker } from './tell-service-worker.ts';

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
  await activated;
  return true;
}
