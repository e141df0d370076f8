/// Replaces localtext's service worker on a site that no longer has it there: deletes what it stored, and
/// itself.
import { nameIn, pausePages, requestsRun, scopeOf, type ServiceWorkerReply } from '#protocol';
import { delay, withTimeout } from '#base';

declare const self: ServiceWorkerGlobalScope;
/**
 * `all`: also weights, keys and conversations. `localtext init --remove` puts this and the next value before
 * the script.
 */
declare const __LOCALTEXT_REMOVE__: 'caches' | 'all';
/** Whether the site's own service worker imports this script: that worker stays. */
declare const __LOCALTEXT_IMPORTED__: boolean;

const { registration } = self;
const scope = scopeOf(registration.scope);

if (!__LOCALTEXT_IMPORTED__) {
  self.addEventListener('install', (event) => {
    event.waitUntil(takeOver());
  });
  self.addEventListener('message', (event) => {
    // A page of a site that has localtext again then lets its own version take over.
    event.ports[0]?.postMessage({ type: 'ok', version: 0 } satisfies ServiceWorkerReply);
    event.waitUntil(unregisterUnlessReplaced());
  });
}
self.addEventListener('activate', (event) => event.waitUntil(remove()));

/**
 * Resolves when no request has run for a second and pages pause, or after a minute. If a page sends a request while the
 * earlier version stops, as at the end of a load, Chromium starts that version again, and this one waits
 * until the page is closed.
 */
async function requestsEnd(): Promise<void> {
  for (let looks = 0, idle = 0; looks < 240; looks++) {
    idle = (await requestsRun(navigator.locks, scope)) ? 0 : idle + 1;
    if (idle > 4) {
      if (await pausePages(navigator.locks, scope)) return;
      idle = 0;
    }
    await delay(250);
  }
}

async function takeOver(): Promise<void> {
  if (registration.active) await requestsEnd();
  await self.skipWaiting();
}

/**
 * Unregisters this worker unless it is replaced. A page that registers it again before it is gone cancels
 * that.
 */
async function unregisterUnlessReplaced(): Promise<void> {
  await registration.update().catch(() => undefined);
  if (!registration.installing && !registration.waiting) await registration.unregister();
}

/** Time limit of each part: until this worker is unregistered, no page of the site is shown. */
const PART_MS = 5000;
const DATABASE_MS = 2000;
const RELOAD_MS = 10_000;

/** Waits for a part of the removal. Null: it failed, or takes longer. */
const attempt = <T>(part: Promise<T>, ms = PART_MS): Promise<T | null> =>
  withTimeout(part, ms).catch((error: unknown) => {
    console.warn('localtext: not all was removed:', error);
    return null;
  });

async function remove(): Promise<void> {
  await attempt(removeFiles());
  if (!__LOCALTEXT_IMPORTED__) {
    // Data is deleted before pages reload: WebKit ends a worker that reloads a page.
    if (__LOCALTEXT_REMOVE__ === 'all') await attempt(removeData());
    const pages = await self.clients.matchAll({ type: 'window' });
    await registration.unregister();
    // Only pages that the earlier worker controlled: a page that registers this worker again is not reloaded.
    await attempt(Promise.allSettled(pages.map((page) => page.navigate(reloadUrl(page.url)))), RELOAD_MS);
    // The earlier worker may have stored a file that it was fetching.
    await attempt(removeFiles());
  }
  if (__LOCALTEXT_REMOVE__ === 'all' && (await attempt(removeData()))) await removeFolder();
}

/** URL that loads a page again. A URL that differs only by its fragment would scroll the page. */
function reloadUrl(address: string): string {
  const url = new URL(address);
  if (url.hash) url.search += `${url.search ? '&' : '?'}localtext-removed`;
  return url.href;
}

async function removeFiles(): Promise<void> {
  const names = await caches.keys();
  const own = names.filter((name) => isFiles(name) && name.endsWith(` ${registration.scope}`));
  await Promise.all(own.map((name) => caches.delete(name)));
}

const isFiles = (name: string): boolean =>
  /^localtext-(precache|small-files|large-files|seen-pages) /.test(name);

/**
 * Deletes keys, conversations and weights in caches.
 * @returns whether no other app of the origin shares the weights
 */
async function removeData(): Promise<boolean> {
  await deleteDatabase(nameIn(scope));
  const otherApps = [...(await caches.keys()).filter(isFiles), ...(await otherDatabases())];
  if (otherApps.length > 0) return false;
  await deleteDatabase('localtext-playground');
  await caches.delete('localtext-weights');
  return true;
}

/**
 * Deletes stored weights. The engine of a page that has just been reloaded may hold a file for a moment
 * longer.
 */
async function removeFolder(): Promise<void> {
  for (let attempts = 0; attempts < 20; attempts++) {
    try {
      const folder = await navigator.storage.getDirectory();
      await folder.removeEntry('localtext', { recursive: true });
      return;
    } catch (error) {
      // Nothing is there, or the browser has no such folder.
      if (['NotFoundError', 'SecurityError', 'TypeError'].includes((error as Error).name)) return;
      await delay(250);
    }
  }
}

/** Databases of the origin's other apps: `localtext`, or `localtext/…/`. */
async function otherDatabases(): Promise<unknown[]> {
  const found = await indexedDB.databases();
  return found.filter(({ name = '' }) => /^localtext(\/|$)/.test(name) && name !== nameIn(scope));
}

/**
 * Deletes a database. It does not wait for pages that keep the database open: the browser deletes it when
 * they are closed. A page with an open dialog is not even asked to close it, and no event reports that.
 */
async function deleteDatabase(name: string): Promise<void> {
  const deleted = new Promise<void>((resolve) => {
    const request = indexedDB.deleteDatabase(name);
    request.onsuccess = request.onerror = request.onblocked = () => resolve();
  });
  await withTimeout(deleted, DATABASE_MS);
}
