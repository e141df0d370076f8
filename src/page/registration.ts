import { Workbox } from 'workbox-window';

import { trustedScriptUrl } from '../util/trusted-urls.ts';
import { serviceWorkerName, siteBase } from './site.ts';
import { folderUrl, type StartOptions } from './start-options.ts';
import type { LifecycleEvents } from './watch-registration.ts';

export interface Registered {
  registration: ServiceWorkerRegistration;
  events: LifecycleEvents;
}

/** Registers the service worker; `onWaiting` is called when a new version waits to take over. */
export async function register(options: StartOptions, onWaiting: () => void): Promise<Registered> {
  if (!('serviceWorker' in navigator)) {
    throw (await import('./registration-errors.ts')).noServiceWorkers();
  }
  const { serviceWorker = {} } = options;
  if (serviceWorker instanceof ServiceWorkerRegistration) {
    const { watchRegistration } = await import('./watch-registration.ts');
    return { registration: serviceWorker, events: watchRegistration(serviceWorker, onWaiting) };
  }
  const url = scriptUrl(serviceWorker.url, options);
  const { scope } = serviceWorker;
  try {
    const workbox = new Workbox(trustedScriptUrl(url), {
      updateViaCache: 'none',
      ...(scope !== undefined && { scope }),
    });
    workbox.addEventListener('waiting', onWaiting);
    const registration = await workbox.register({ immediate: true });
    // Undefined only for a second call, in Workbox's development build.
    if (!registration) throw new Error('no registration');
    return { registration, events: workbox };
  } catch (error) {
    // The messages are fetched when one is needed.
    throw (await import('./registration-errors.ts')).registrationFailed(error, url);
  }
}

function scriptUrl(path: string | undefined, { base = siteBase, isolation }: StartOptions): string {
  const url = new URL(path ?? folderUrl(base) + serviceWorkerName, document.baseURI);
  if (isolation === 'off') url.searchParams.set('isolation', 'off');
  return url.href;
}
