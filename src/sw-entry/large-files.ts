declare const self: ServiceWorkerGlobalScope;

/** The engines' WASM files and the like, put before the script by the Vite plugin and by `localtext init`. */
declare const __LOCALTEXT_LARGE_FILES__: readonly LargeFile[] | undefined;

interface LargeFile {
  /** Relative to the service worker's script. */
  url: string;
  revision: string | null;
}

const CACHE = 'localtext-large-files';

/**
 * Files too large to be fetched beforehand: kept when first used. With tens of megabytes among what is installed, a
 * first visit would wait for all of them before it could ask anything.
 */
function keepWhenUsed(entries: readonly LargeFile[], base: string) {
  const keys = new Map(
    entries.map(({ url, revision }) => {
      const href = new URL(url, base).href;
      return [href, revision === null ? href : `${href}?localtext-revision=${revision}`];
    }),
  );

  return {
    has: (url: string): boolean => keys.has(url),

    async respond(request: Request): Promise<Response> {
      const key = keys.get(request.url) ?? request.url;
      const cache = await caches.open(CACHE);
      const kept = await cache.match(key);
      if (kept) return kept;
      const response = await fetch(request);
      // Without room for it, it comes from the network the next time too.
      if (response.ok) cache.put(key, response.clone()).catch(() => {});
      return response;
    },

    /** Drops what an earlier build has kept. */
    async tidy(): Promise<void> {
      const wanted = new Set(keys.values());
      const cache = await caches.open(CACHE);
      const kept = await cache.keys();
      await Promise.all(kept.filter(({ url }) => !wanted.has(url)).map((request) => cache.delete(request)));
    },
  };
}

export const largeFiles = keepWhenUsed(
  typeof __LOCALTEXT_LARGE_FILES__ === 'undefined' ? [] : __LOCALTEXT_LARGE_FILES__,
  self.location.href,
);
