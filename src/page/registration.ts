import { trustedScriptUrl } from '../util/trusted-urls.ts';
import { serviceWorkerName, siteBase } from './site.ts';
import { folderUrl, type StartOptions } from './start-options.ts';

/** Registers the service worker; `onWaiting` is called when a new version waits to take over. */
export async function register(
  options: StartOptions,
  onWaiting: () => void,
): Promise<ServiceWorkerRegistration> {
  if (!('serviceWorker' in navigator)) {
    throw (await import('./registration-errors.ts')).noServiceWorkers();
  }
  const { serviceWorker = {} } = options;
  if (serviceWorker instanceof ServiceWorkerRegistration) return watched(serviceWorker, onWaiting);
  const url = scriptUrl(serviceWorker.url, options);
  const { scope } = serviceWorker;
  try {
    const registration = await navigator.serviceWorker.register(trustedScriptUrl(url), {
      updateViaCache: 'none',
      ...(scope !== undefined && { scope }),
    });
    return watched(registration, onWaiting);
  } catch (error) {
    // The messages are fetched when one is needed.
    throw (await import('./registration-errors.ts')).registrationFailed(error, url);
  }
}

/** The first version takes over by itself: only later ones wait. */
function watched(registration: ServiceWorkerRegistration, onWaiting: () => void): ServiceWorkerRegistration {
  const watch = (): void => {
    const worker = registration.installing;
    worker?.addEventListener('statechange', () => {
      if (worker.state === 'installed' && registration.active) onWaiting();
    });
  };
  registration.addEventListener('updatefound', watch);
  watch();
  // Told after `start()` has its handle.
  if (registration.waiting && registration.active) setTimeout(onWaiting);
  return registration;
}

function scriptUrl(path: string | undefined, { base = siteBase, isolation }: StartOptions): string {
  const url = new URL(path ?? folderUrl(base) + serviceWorkerName, document.baseURI);
  if (isolation === 'off') url.searchParams.set('isolation', 'off');
  return url.href;
}
