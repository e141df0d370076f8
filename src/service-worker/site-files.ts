import { withTimeout } from '../util/async.ts';
import { trustedScriptUrl } from '../util/trusted-urls.ts';

declare const self: {
  location: { href: string };
  registration: { scope: string };
  importScripts(url: string): void;
};

const CACHE_MS = 10_000;

/** A file of the build, as the Vite plugin and `localtext init` list it. */
export interface SiteFile {
  /** Relative to the service worker's script. */
  url: string;
  /** Null where the name itself has a hash of the content. */
  revision: string | null;
}

/** Files of the site in one cache: all of them from the installation on, or each from its first use on. */
export class SiteFiles {
  readonly #cache: string;
  /** URL → the URL under which this build's file is cached. */
  readonly #keys: ReadonlyMap<string, string>;
  #lost = false;

  /** @param name of the cache; two sites of one origin have one each */
  constructor(name: string, files: readonly SiteFile[]) {
    this.#cache = `${name} ${self.registration.scope}`;
    this.#keys = new Map(
      files.map(({ url, revision }) => {
        const { href } = new URL(url, self.location.href);
        return [href, revision === null ? href : `${href}?localtext-revision=${revision}`];
      }),
    );
  }

  has(url: string): boolean {
    return this.#keys.has(url);
  }

  /**
   * What the cache answers. Null: nothing, in 10 s. Chromium's can be lost with the site's data when that is cleared, until
   * all tabs of the site are closed; the site's files then come over the network.
   */
  async #ask<T>(call: (cache: Cache) => Promise<T>): Promise<T | null> {
    if (this.#lost) return null;
    const answer = await withTimeout(caches.open(this.#cache).then(call), CACHE_MS);
    this.#lost = answer === null;
    if (this.#lost) console.warn('localtext: the cache does not answer. Close all tabs of this site.');
    return answer;
  }

  async #cachedUrls(): Promise<string[]> {
    const requests = await this.#ask((cache) => cache.keys());
    return requests?.map(({ url }) => url) ?? [];
  }

  /**
   * From the cache; otherwise from the network, and cached for the next time.
   * @param url the file's, which is not the request's where a folder is asked for
   */
  async respond(request: Request, url = request.url): Promise<Response> {
    const key = this.#keys.get(url) ?? url;
    const cached = await this.#ask((cache) => cache.match(key));
    if (cached) return cached;
    const response = await fetch(request);
    // Without room in the cache, the next request also uses the network.
    if (response.ok && !this.#lost) this.#put(key, response.clone()).catch(() => undefined);
    return response;
  }

  async #put(key: string, response: Response): Promise<void> {
    const cache = await caches.open(this.#cache);
    await cache.put(key, withoutRedirect(response));
  }

  /**
   * Caches all files. A file that cannot be fetched is logged and left out: hosts leave out files of a build, and the
   * site must work without a cache too.
   */
  async install(): Promise<void> {
    const cached = await this.#cachedUrls();
    if (this.#lost) return;
    const add = async (url: string, key: string): Promise<void> => {
      // A hashed name never changes content, so the HTTP cache is valid.
      const response = await fetch(url, { cache: url === key ? 'default' : 'reload' });
      if (!response.ok) throw new Error(`status ${response.status}`);
      await this.#put(key, response);
    };
    const missing = [...this.#keys].filter(([, key]) => !cached.includes(key));
    await Promise.all(
      missing.map(([url, key]) =>
        add(url, key).catch((error: unknown) =>
          console.warn(`localtext: ${url} will not be available offline:`, error),
        ),
      ),
    );
  }

  /** Deletes the files of earlier builds. */
  async deleteOutdated(): Promise<void> {
    const current = new Set(this.#keys.values());
    const outdated = (await this.#cachedUrls()).filter((url) => !current.has(url));
    await Promise.all(outdated.map((url) => this.#ask((cache) => cache.delete(url))));
  }
}

/** A navigation may not be answered with a response that followed a redirect. */
function withoutRedirect(response: Response): Response {
  if (!response.redirected) return response;
  const { body, headers, status, statusText } = response;
  return new Response(body, { headers, status, statusText });
}

/** Put before the script by the Vite plugin and by `localtext init`, or set by the script `OWN_FILES`. */
declare const __LOCALTEXT_LARGE_FILES__: readonly SiteFile[] | undefined;
/** Set where the site's other files are not localtext's to keep. */
declare const __LOCALTEXT_SMALL_FILES__: readonly SiteFile[] | undefined;

/** Beside the service worker, where another tool than the Vite plugin has bundled that. */
const OWN_FILES = 'localtext-sw-files.js';

export interface OwnFiles {
  /** Kept from the installation on. */
  small: SiteFiles;
  /**
   * Kept when first used. With tens of megabytes among what is installed, a first visit would wait for all of them
   * before it could send a request.
   */
  large: SiteFiles;
}

/** Call it while the script is evaluated: later, a service worker may import nothing. */
export function ownFiles(): OwnFiles {
  if (typeof __LOCALTEXT_LARGE_FILES__ === 'undefined') importList();
  return {
    small: new SiteFiles(
      'localtext-small-files',
      typeof __LOCALTEXT_SMALL_FILES__ === 'undefined' ? [] : __LOCALTEXT_SMALL_FILES__,
    ),
    large: new SiteFiles(
      'localtext-large-files',
      typeof __LOCALTEXT_LARGE_FILES__ === 'undefined' ? [] : __LOCALTEXT_LARGE_FILES__,
    ),
  };
}

/** The browser stores what a service worker imports, and compares it too when it looks for an update. */
function importList(): void {
  try {
    self.importScripts(trustedScriptUrl(new URL(OWN_FILES, self.location.href)));
  } catch (error) {
    console.warn(
      `localtext: ${OWN_FILES} is not beside the service worker, or the worker is a module: localtext's files will not be available offline.`,
      error,
    );
  }
}
