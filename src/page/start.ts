import { isolates, scopeOf, type PageToServiceWorker } from '#protocol';
import { delay } from '#base';
import { joinElection } from './election/join.ts';
import { loadChunk } from './load-chunk.ts';
import { Localtext } from './localtext.ts';
import { onControlLost, takeControl } from './take-control.ts';
import { requireBrowser, requireCache, withStorage } from './requirements.ts';
import { findServiceWorkers, register } from './registration.ts';
import { engineSettings, type StartOptions } from './start-options.ts';

let started: Promise<Localtext> | null = null;

/**
 * Makes `/v1` of this origin answer in this page and in every other tab below the service worker's scope,
 * without a reload. Apps of other scopes have their own models and keys. A second call returns the handle of
 * the first, unless that has failed.
 * @throws LocaltextError; if the browser allows no service worker, it says to use `createFetch()`.
 * @example
 * const localtext = await start();
 * const { key } = await localtext.keys.ensure({ label: 'notes' });
 * const client = new OpenAI({ baseURL: localtext.baseURL, fetch: localtext.fetch, apiKey: key, dangerouslyAllowBrowser: true });
 */
export function start(options: StartOptions = {}): Promise<Localtext> {
  if (started) return started;
  const starting = (started = startOnce(options));
  const forget = (): void => void (started = null);
  starting.then((localtext) => localtext.stopped.addEventListener('abort', forget), forget);
  return starting;
}

async function startOnce(options: StartOptions): Promise<Localtext> {
  await requireBrowser();
  const settings = engineSettings(options);
  await activation();
  let localtext: Localtext | null = null;
  const onWaiting = (): void => localtext?.announceUpdate();
  const install = async (): Promise<ServiceWorkerRegistration> => {
    const registered = await register(options, onWaiting);
    await requireCache();
    await withStorage(() => storeSettings(scopeOf(registered.scope), options));
    await takeControl(registered);
    return registered;
  };
  const isLoadedWithout = !findServiceWorkers()?.controller;
  const registration = await install();
  await reloadIsolated(registration);
  if (isLoadedWithout && !(options.serviceWorker instanceof ServiceWorkerRegistration))
    reportLoaded(registration);
  const membership = joinElection(scopeOf(registration.scope), settings);
  const handle = (localtext = new Localtext(membership, registration, options.catalog));
  // Deferred, so that the site can add its listener first.
  setTimeout(onWaiting);
  // The site renews its own registration.
  if (!(options.serviceWorker instanceof ServiceWorkerRegistration))
    onControlLost(handle.stopped, async () => handle.renew(await install()));
  return handle;
}

/**
 * Resolves when a prerendered page is shown: until then it reaches no service worker. Resolves at once in
 * other pages.
 */
async function activation(): Promise<void> {
  if ((document as { prerendering?: boolean }).prerendering)
    await new Promise((resolve) => document.addEventListener('prerenderingchange', resolve));
}

/** Stores settings for the service worker. Earlier settings that are absent now are deleted. */
async function storeSettings(scope: string, options: StartOptions): Promise<void> {
  // Checked before anything uses it. Pages with the default catalog load no checks.
  if (options.catalog) (await loadChunk(import('#catalog/parse'))).parseCatalog(options.catalog);
  const { keepSettings } = await loadChunk(import('#database/database'));
  await keepSettings(scope, navigator.locks, options);
}

/** How a page loads its parts, in the words of `PerformanceResourceTiming`. */
const PART_INITIATORS = new Set(['script', 'link', 'css', 'img']);

/** Tells the service worker, which may store pages as they are seen, what this page loaded without it. */
function reportLoaded({ active }: ServiceWorkerRegistration): void {
  const loads = performance.getEntriesByType('resource') as PerformanceResourceTiming[];
  const isPart = ({ initiatorType }: PerformanceResourceTiming) => PART_INITIATORS.has(initiatorType);
  const parts = loads.filter(isPart).map(({ name }) => name);
  active?.postMessage({ type: 'localtext:loaded', page: location.href, parts } satisfies PageToServiceWorker);
}

const RELOADED = 'localtext:reloaded-for-isolation';

/** How long a page may take to unload. It stays if the user declines to leave it. */
const UNLOAD_MS = 3000;

/**
 * Reloads a page that the service worker would isolate, but did not load: on a first visit, or after
 * Shift+reload. Once per tab, in case the host's headers prevent isolation. A page in a frame depends on the
 * pages around it.
 */
async function reloadIsolated({ active }: ServiceWorkerRegistration): Promise<void> {
  if (crossOriginIsolated) return sessionStorage.removeItem(RELOADED);
  if (!active || !isolates(active.scriptURL, location.href) || window !== top) return;
  if (sessionStorage.getItem(RELOADED)) return;
  sessionStorage.setItem(RELOADED, '1');
  // Chromium keeps a page that was left, and restores it at the user's reload, but not one that holds a lock.
  await navigator.locks.request(RELOADED, () => {
    location.reload();
    return delay(UNLOAD_MS);
  });
}
