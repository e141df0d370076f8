import { Workbox } from 'workbox-window';

import { addIsolation } from '#protocol';
import { trustedScriptUrl } from '#browser';
import { startErrors } from './load-chunk.ts';
import { serviceWorkerName, siteBase, siteIsolation } from './site.ts';
import { folderUrl, type StartOptions } from './start-options.ts';

/**
 * The page's service workers. Absent in an insecure context, in some private windows, and in a sandboxed page,
 * where the property throws.
 */
export function findServiceWorkers(): ServiceWorkerContainer | undefined {
  try {
    return navigator.serviceWorker;
  } catch {
    return undefined;
  }
}

/** Registers the service worker; `onWaiting` is called when a new version waits to take over. */
export async function register(
  options: StartOptions,
  onWaiting: () => void,
): Promise<ServiceWorkerRegistration> {
  if (!('serviceWorker' in navigator)) throw (await startErrors()).noServiceWorkers();
  const { serviceWorker = {} } = options;
  if (serviceWorker instanceof ServiceWorkerRegistration) {
    if (options.isolation?.length)
      throw new TypeError("isolation is only for localtext's own service worker.");
    watchRegistration(serviceWorker, onWaiting);
    return serviceWorker;
  }
  const url = scriptUrl(serviceWorker.url, options);
  const { scope } = serviceWorker;
  try {
    const known = await findRegistration(scope ?? new URL('./', url).href, url);
    const workbox = new Workbox(trustedScriptUrl(url), {
      updateViaCache: 'none',
      ...(scope !== undefined && { scope }),
    });
    const controls = known?.active?.scriptURL === url && known.active === navigator.serviceWorker.controller;
    const registering = workbox.register({ immediate: true });
    // A page that is controlled does not wait: a busy Chromium takes up to a minute to find that nothing has
    // changed.
    registering.catch(
      (error: unknown) => controls && console.error('localtext: not registered again', error),
    );
    const registration = controls ? known : await registering;
    // Undefined only for a second call, in Workbox's development build.
    if (!registration) throw new Error('no registration');
    registration.addEventListener('updatefound', () => void warnOfForeign(registration, url));
    // Workbox reports one version only, once the page is a minute old.
    watchRegistration(registration, onWaiting);
    return registration;
  } catch (error) {
    throw (await startErrors()).registrationFailed(error, url);
  }
}

function scriptUrl(
  path: string | undefined,
  { base = siteBase, isolation = siteIsolation }: StartOptions,
): string {
  const url = new URL(path ?? folderUrl(base) + serviceWorkerName, document.baseURI);
  addIsolation(url, isolation);
  return url.href;
}

/**
 * The scope's registration, if any. Two scripts on one scope would replace each other at every visit.
 * @throws LocaltextError `service_worker_foreign`
 */
async function findRegistration(scope: string, url: string): Promise<ServiceWorkerRegistration | undefined> {
  // If the browser refuses the lookup, it refuses to register too, with a reason.
  const registration = await navigator.serviceWorker.getRegistration(scope).catch(() => undefined);
  if (registration?.scope !== new URL(scope, document.baseURI).href) return undefined;
  const script = foreignScript(registration, url);
  if (script !== null) throw (await startErrors()).foreignWorker(script, scope);
  return registration;
}

/** Warns of another script that the site registers later, after the page has loaded. */
async function warnOfForeign(registration: ServiceWorkerRegistration, url: string): Promise<void> {
  const script = foreignScript(registration, url);
  if (script !== null) console.error((await startErrors()).foreignWorker(script, registration.scope).message);
}

/**
 * Finds a registered script other than the one at `url`. localtext's own under its usual name does not count:
 * it may be replaced, as it keeps nothing of the site's.
 */
function foreignScript(
  { installing, waiting, active }: ServiceWorkerRegistration,
  url: string,
): string | null {
  const path = (script: string): string => new URL(script).pathname;
  const scripts = [installing, waiting, active].flatMap((worker) => worker?.scriptURL ?? []);
  const foreign = (script: string): boolean =>
    path(script) !== path(url) && !path(script).endsWith('/localtext-sw.js');
  return scripts.find(foreign) ?? null;
}

/**
 * Calls `onWaiting` for each version that waits to take over, also of a registration that the site has made:
 * Workbox would register its script again, and cannot tell whether it is a module.
 */
function watchRegistration(registration: ServiceWorkerRegistration, onWaiting: () => void): void {
  const look = ({ target }: Event): void => {
    // The first version activates immediately; only later ones wait.
    if ((target as ServiceWorker).state === 'installed' && registration.active) onWaiting();
  };
  // A worker is seen here and by `updatefound`: the same listener is added once.
  const watch = (): void => registration.installing?.addEventListener('statechange', look);
  registration.addEventListener('updatefound', watch);
  watch();
  if (registration.waiting && registration.active) onWaiting();
}
