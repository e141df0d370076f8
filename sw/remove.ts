/// In the place of localtext's service worker, on a site that no longer has it there: deletes what it stored, and itself.
import { nameIn, scopeOf } from '../src/protocol/locks.ts';

declare const self: ServiceWorkerGlobalScope;
/** `all`: also weights, keys and conversations. Put before the script by `localtext init --remove`. */
declare const __LOCALTEXT_REMOVE__: 'caches' | 'all';

const { registration } = self;

self.addEventListener('install', (event) => event.waitUntil(self.skipWaiting()));

self.addEventListener('activate', (event) => {
  event.waitUntil(remove());
});

// A page that registers this worker again before it is gone takes the unregistering back.
self.addEventListener('message', (event) => event.waitUntil(unregister()));

async function unregister(): Promise<void> {
  // Imported by a worker of the site's, which stays.
  if (self.location.pathname.endsWith('/localtext-sw.js')) await registration.unregister();
}

async function remove(): Promise<void> {
  const hasOtherApps = await removeFiles();
  // Imported by a worker of the site's, which stays.
  if (self.location.pathname.endsWith('/localtext-sw.js')) {
    const pages = await self.clients.matchAll({ type: 'window' });
    await registration.unregister();
    // Only pages that the earlier worker controlled: one that registers this worker again is not reloaded.
    await Promise.allSettled(pages.map((page) => page.navigate(page.url)));
    // The earlier worker may have stored a file that it was fetching.
    await removeFiles();
  }
  if (__LOCALTEXT_REMOVE__ === 'all') await removeAll(hasOtherApps);
}

/** @returns whether other apps of the origin have files */
async function removeFiles(): Promise<boolean> {
  const names = await caches.keys();
  const files = names.filter((name) => /^localtext-(precache|small-files|large-files) /.test(name));
  const own = files.filter((name) => name.endsWith(` ${registration.scope}`));
  await Promise.all(own.map((name) => caches.delete(name)));
  return files.length > own.length;
}

/** Pages that have been reloaded no longer hold the files open. Other apps of the origin share the weights. */
async function removeAll(hasOtherApps: boolean): Promise<void> {
  indexedDB.deleteDatabase(nameIn(scopeOf(registration.scope)));
  if (hasOtherApps) return;
  indexedDB.deleteDatabase('localtext-playground');
  await caches.delete('localtext-weights');
  const folder = await navigator.storage.getDirectory();
  await folder.removeEntry('localtext', { recursive: true }).catch(() => undefined);
}
