import { delay, withTimeout } from '#base';
import { startErrors } from './load-chunk.ts';
import { LocaltextError } from './localtext-error.ts';
import { applyUpdate, noteOwnVersion, REPLY_MS, tellServiceWorker } from './update.ts';

/** How long requests of the older version may keep a newer one waiting, in milliseconds. */
const TAKE_OVER_MS = 60_000;

/**
 * Time limit for a page whose URL is outside the scope. It is claimed only if a router has changed the URL.
 */
const OUTSIDE_MS = 1000;

/**
 * Time limit of an installation. An installation during which the site's data is cleared may never end: it is
 * started again.
 */
const RENEWAL_MS = 15_000;
const RENEWAL_PAUSE_MS = 5000;

/** Resolves when the registration's worker is active. @throws LocaltextError when its installation fails. */
async function activeWorker(registration: ServiceWorkerRegistration): Promise<ServiceWorker> {
  for (;;) {
    if (registration.active) return registration.active;
    const next = registration.installing ?? registration.waiting;
    if (!next) throw (await startErrors()).notInstalled();
    await stateChange(next);
  }
}

const stateChange = (worker: ServiceWorker): Promise<unknown> =>
  new Promise((resolve) => worker.addEventListener('statechange', resolve, { once: true }));

/**
 * Makes a service worker of this page's version control it, without a reload: on a first visit, and after
 * Shift+reload. If an older version is active and this page's version waits, the latter takes over once no
 * request runs.
 */
export async function takeControl(registration: ServiceWorkerRegistration): Promise<void> {
  const worker = await activeWorker(registration);
  try {
    await control(worker, registration);
  } catch (error) {
    if (!(error instanceof LocaltextError) || error.code !== 'protocol_mismatch') throw error;
    await registration.update().catch(() => {});
    const next = registration.installing ?? registration.waiting;
    if (!next) throw error;
    if (next.state === 'installing') await stateChange(next);
    await applyUpdate(registration, AbortSignal.timeout(TAKE_OVER_MS)).catch(() => {
      throw error;
    });
    await control(next, registration);
  }
}

async function control(worker: ServiceWorker, registration: ServiceWorkerRegistration): Promise<void> {
  const { serviceWorker } = navigator;
  if (serviceWorker.controller === worker) {
    const { fromServer } = await tellServiceWorker(worker, { type: 'localtext:version' });
    if (fromServer) void noteOwnVersion(registration);
    return;
  }
  // Not Workbox's promise `controlling`: after Shift+reload, it takes the worker for another page's.
  const controlled = new Promise<Event>((resolve) => {
    serviceWorker.addEventListener('controllerchange', resolve, { once: true });
  });
  await tellServiceWorker(worker, { type: 'localtext:claim' });
  const waitMs = location.href.startsWith(registration.scope) ? REPLY_MS : OUTSIDE_MS;
  if (serviceWorker.controller === worker || (await withTimeout(controlled, waitMs))) return;
  throw (await startErrors()).noControl(registration.scope);
}

/**
 * Installs the service worker again each time the page has none: the user has cleared the site's data, or, in
 * WebKit, another tab has replaced it while the page was in the back/forward cache. Otherwise the host would
 * answer `/v1`.
 */
export function onControlLost(stopped: AbortSignal, install: () => Promise<void>): void {
  const { serviceWorker } = navigator;
  const renew = async (): Promise<void> => {
    while ((serviceWorker.controller?.state ?? 'redundant') === 'redundant' && !stopped.aborted) {
      try {
        await withTimeout(install(), RENEWAL_MS);
      } catch (error) {
        console.error('localtext: the service worker is gone and could not be installed again yet', error);
        await delay(RENEWAL_PAUSE_MS);
      }
    }
  };
  const onChange = (): void => {
    // WebKit tells a page that comes back of its worker's end after `pageshow`.
    serviceWorker.controller?.addEventListener('statechange', onChange, { signal: stopped });
    void renew();
  };
  serviceWorker.addEventListener('controllerchange', onChange, { signal: stopped });
  onChange();
}
