import { delay, withTimeout, sha256, type SiteFile } from '#base';
import { putWhole, trustedScriptUrl } from '#browser';

declare const self: {
  location: { href: string };
  registration: { scope: string; active: unknown };
  importScripts(url: string): void;
  addEventListener(type: 'securitypolicyviolation', listener: (event: { disposition: string }) => void): void;
  /** Put before the script by the Vite plugin and by `localtext init`, or set by the script `OWN_FILES`. */
  __LOCALTEXT_LARGE_FILES__?: readonly SiteFile[];
  /** Set if localtext does not keep the site's other files. */
  __LOCALTEXT_SMALL_FILES__?: readonly SiteFile[];
};

const CACHE_MS = 10_000;
/** Time limit of a file in an installation: `start()` of a first visit waits for all of them. */
const FILE_MS = 60_000;
const REVISION = '?localtext-build=';
/** Content types by extension. Browsers run no script and use no style sheet of another type. */
const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html',
  css: 'text/css',
  js: 'text/javascript',
  mjs: 'text/javascript',
  wasm: 'application/wasm',
};

/** Files that people open or download. Other dots are in names: `/docs/v1.2`, `/users/jane.doe`. */
const FILE =
  /\.(?:7z|apk|bin|bz2|css|csv|deb|dmg|docx?|epub|exe|gguf|gz|html?|ic[os]|iso|m?js|json|map|md|msi|ods|odt|onnx|parquet|pdf|pptx?|rar|rtf|safetensors|tar|tgz|tsv?|txt|wasm|woff2?|xlsx?|xml|xz|ya?ml|zip|avif|bmp|gif|jpe?g|png|svg|tiff?|webp|aac|flac|m4a|mp3|og[gv]|opus|wav|m4v|mkv|mov|mp4|webm)$/i;

interface KeptFile extends Omit<SiteFile, 'url'> {
  /** The URL under which this content is cached: unchanged files of the next build have the same one. */
  key: string;
  /**
   * Whether the page was fetched again since this worker started, for headers that the host has changed, such
   * as its policies.
   */
  isRenewed?: boolean;
  /** The end of the last answer that is stored first. */
  answered?: Promise<void>;
}

/**
 * Spells a URL in one way: the list, a page and the URL parser escape different characters of a name (`@`,
 * `+`, `[`).
 */
function canonical(url: string): string {
  const parsed = new URL(url, self.location.href);
  parsed.hash = '';
  parsed.pathname = parsed.pathname.replace(/[^/]+/g, (segment) => {
    try {
      return encodeURIComponent(decodeURIComponent(segment));
    } catch {
      return segment;
    }
  });
  return parsed.href;
}

/**
 * Error for a file that is not stored although its build is complete: the host does not serve it, or the
 * storage has no room.
 */
class LeftOut extends Error {}
const ABSENT = new Set([404, 410]);

/** Files of the site in one cache: stored by the installation, or each on its first use. */
export class SiteFiles {
  readonly #cache: string;
  readonly #listed: readonly SiteFile[] | undefined;
  #byUrl: ReadonlyMap<string, KeptFile> | undefined;
  readonly #isListLost: boolean;
  #lost = false;

  /**
   * @param name name of the cache; two sites of one origin have one each
   * @param files absent if there is no list
   * @param isListLost whether the list could not be fetched, or is no script
   */
  constructor(name: string, files?: readonly SiteFile[], isListLost = false) {
    this.#listed = files;
    this.#isListLost = isListLost;
    this.#cache = `${name} ${self.registration.scope}`;
  }

  /** Files by URL. Made on first use: a request to `/v1` that starts the worker does not wait for the URLs. */
  get #files(): ReadonlyMap<string, KeptFile> {
    this.#byUrl ??= new Map(
      this.#listed?.map((file) => {
        const href = canonical(file.url);
        return [href, { ...file, key: href + REVISION + file.sha256.slice(0, 16) }];
      }),
    );
    return this.#byUrl;
  }

  /**
   * Calls the cache. Null: an error, or no answer in 10 s. Chromium's cache can be damaged, or lost when the
   * site's data is cleared, until all tabs of the site are closed; the site's files then come over the
   * network.
   */
  async #ask<T>(call: (cache: Cache) => Promise<T>): Promise<T | null> {
    if (this.#lost) return null;
    const asked = withTimeout(caches.open(this.#cache).then(call), CACHE_MS);
    const answer = await asked.catch((error: unknown) => {
      console.warn('localtext:', error);
      return null;
    });
    this.#lost = answer === null;
    if (this.#lost) console.warn('localtext: the cache does not answer. Close all tabs of this site.');
    return answer;
  }

  async #cachedUrls(): Promise<string[]> {
    const requests = await this.#ask((cache) => cache.keys());
    return requests?.map(({ url }) => url) ?? [];
  }

  /**
   * Answers from the cache; otherwise from the network, and caches the answer if it is the build's file. WASM is
   * cached before it is answered, so that requests at the same time share one fetch. A request with the cache mode
   * `reload` ignores the stored file: its use has failed. Undefined: no file of the list is requested.
   * @param isOffline whether the network has not answered the request
   */
  respond(request: Request, isOffline = false): Promise<Response> | undefined {
    const { url, mode, method } = request;
    if (method !== 'GET') return undefined;
    if (mode !== 'navigate') return this.#answerIfListed(request, url);
    // A navigation may have a query, and name a folder.
    const { origin, pathname } = new URL(url);
    return (
      this.#answerIfListed(request, origin + pathname.replace(/\/$/, '/index.html')) ??
      this.#answerUnnamed(request, isOffline)
    );
  }

  #answerIfListed(request: Request, url: string): Promise<Response> | undefined {
    const file = this.#files.get(canonical(url));
    if (!file || !isWasm(request)) return file && this.#answer(request, file);
    const before = withTimeout(Promise.resolve(file.answered), FILE_MS);
    const answer = before.then(() => this.#answer(request, file));
    file.answered = answer.then(noop, noop);
    return answer;
  }

  /**
   * Answers an address without a file's name: from the network, whose host knows the page, and without one
   * from the page that hosts send for such addresses.
   */
  #answerUnnamed(request: Request, isOffline: boolean): Promise<Response> | undefined {
    const { origin, pathname, search } = new URL(request.url);
    if (FILE.test(pathname)) return undefined;
    const reach = (): Promise<Response> => (isOffline ? Promise.reject(new TypeError()) : fetch(request));
    const path = origin + pathname.replace(/(?<=.)\/$/, '');
    if (this.#files.has(canonical(`${path}/index.html`)))
      return reach().catch(() => Response.redirect(`${path}/${search}`));
    const page = this.#files.get(canonical(`${path}.html`)) ?? this.#appPage(request.url);
    return page && reach().catch(() => this.#answer(request, page));
  }

  /** The page of a single-page app, whose router reads the address. Another app may be beside its folder. */
  #appPage(url: string): KeptFile | undefined {
    if (!url.startsWith(new URL('./', self.location.href).href)) return undefined;
    const pages = [...this.#files.keys()].filter((name) => /(?<!\/404)\.html?$/.test(name));
    const only = pages.length === 1 ? this.#files.get(canonical('index.html')) : undefined;
    return this.#files.get(canonical('200.html')) ?? only;
  }

  async #answer(request: Request, file: KeptFile): Promise<Response> {
    const cached = request.cache !== 'reload' && (await this.#ask((cache) => cache.match(file.key)));
    if (cached) {
      if (request.mode === 'navigate' && !file.isRenewed) {
        file.isRenewed = true;
        const renewing = fetch(request.url.replace(/[?#].*/, ''), { cache: 'no-cache' }).then((answer) =>
          this.#store(file, answer),
        );
        // Without a network, or with another build's page, the stored file stays.
        renewing.catch(() => undefined);
      }
      return cached;
    }
    // The HTTP cache may hold another build's file of this name.
    const unnamed = file.revision && request.mode !== 'navigate';
    const response = await fetch(unnamed ? new Request(request, { cache: 'reload' }) : request);
    if (!response.ok || this.#lost) return response;
    const storing = this.#store(file, response.clone()).then(() => true, warnOf(request.url));
    if (!isWasm(request)) return response;
    // Chromium keeps compiled code beside the answer's source. The next visit compiles from the cache.
    const isStored = await withTimeout(storing, CACHE_MS);
    return (isStored && (await this.#ask((cache) => cache.match(file.key)))) || response;
  }

  /** @throws LeftOut; Error when the answer is not the build's file */
  async #store({ key, sha256: hash, marks }: KeptFile, response: Response): Promise<void> {
    const { ok, status, headers, url } = response;
    const body = new Uint8Array(await response.arrayBuffer());
    const text = marks && new TextDecoder().decode(body);
    const isMarked = marks?.every((mark) => text?.includes(mark));
    // Content that the host inserted may belong to one user or one query.
    const isPrivate = /no-store|private/i.test(headers.get('cache-control') ?? '') || url.includes('?');
    if (!ok || !((await sha256(body)) === hash || (isMarked && !isPrivate))) {
      // Some hosts shrink images and send different bytes.
      const isLeftOut = ok && (isMarked || headers.get('content-type')?.startsWith('image/'));
      const reason = ok ? 'the server sent another file than this build has' : `status ${status}`;
      throw isLeftOut ? new LeftOut(reason) : new Error(reason);
    }
    // A new response: a navigation may not be answered with one that followed a redirect.
    const storing = caches.open(this.#cache).then((cache) => putWhole(cache, key, body, typed(key, headers)));
    await storing.catch((error: unknown) => {
      throw new LeftOut(String(error));
    });
  }

  /**
   * Caches all files. Files that a host leaves out, or for which the storage has no room, come over the
   * network later.
   * @throws Error when a file cannot be fetched, or is not this build's: a later version is not installed
   *   then, and the earlier build stays. A first version is installed without the file, and without its
   *   pages.
   */
  async install(): Promise<void> {
    const cached = await this.#cachedUrls();
    if (this.#lost) return;
    const { active } = self.registration;
    // Discard the stored files only if the site has given up its list.
    if (active && this.#isListLost && cached.length > 0) {
      const { status } = await fetch(OWN_FILES, { cache: 'reload' });
      if (!ABSENT.has(status)) throw new Error(`no ${OWN_FILES}: deploy it, or an empty file`);
    }
    const missing = [...this.#files].filter(([, { key }]) => !cached.includes(key));
    let whole = true;
    let reached = missing.length === 0;
    let isBlocked = false;
    self.addEventListener('securitypolicyviolation', ({ disposition }) => {
      isBlocked ||= disposition !== 'report';
    });
    const store = async ([url, file]: [string, KeptFile]): Promise<void> => {
      const signal = AbortSignal.timeout(FILE_MS);
      // A file that the earlier build had, or whose name has a hash, is missing because the build is not
      // completely deployed yet.
      const mayLack = file.revision && !cached.some((key) => key.startsWith(url + REVISION));
      const attempt = async (cache: RequestCache): Promise<void> => {
        const response = await fetch(url, { cache, signal });
        reached = true;
        if (mayLack && ABSENT.has(response.status)) throw new LeftOut(`status ${response.status}`);
        await this.#store(file, response);
      };
      try {
        // A name with a hash never changes its content, so the HTTP cache is valid unless a wrong answer is
        // in it.
        await (file.revision ? attempt('reload') : attempt('default').catch(() => attempt('reload')));
      } catch (error) {
        warnOf(url)(error);
        if (error instanceof LeftOut) return;
        if (active) throw error;
        whole = false;
      }
    };
    // Pages are stored last: a page whose script is missing would stay blank if the next build has no such
    // script.
    for (const isPage of [false, true])
      if (whole) await Promise.all(missing.filter(([url]) => /\.html?$/.test(url) === isPage).map(store));
    if (reached) return;
    // The event follows the failure. A worker whose policy blocks every fetch would keep visitors from the
    // site.
    await delay(10);
    if (isBlocked) throw new Error('connect-src');
  }

  /** Deletes the files of earlier builds. Without a list, no file is known to be outdated. */
  async deleteOutdated(): Promise<void> {
    if (!this.#listed) return;
    const current = new Set([...this.#files.values()].map(({ key }) => key));
    const outdated = (await this.#cachedUrls()).filter((url) => !current.has(url));
    await Promise.all(outdated.map((url) => this.#ask((cache) => cache.delete(url))));
  }
}

/**
 * Headers of a file whose body is right. A wrong type would stay until the next build; no cache stores `Vary:
 * *`.
 */
function typed(url: string, sent: Headers): Headers {
  const headers = new Headers(sent);
  headers.delete('vary');
  const type = TYPES[/\.(\w+)(\?|$)/.exec(url)?.[1] ?? ''];
  if (type && !headers.get('content-type')?.includes(type.replace(/.*\//, '')))
    headers.set('content-type', type);
  return headers;
}

const noop = (): void => undefined;

const isWasm = ({ url }: Request): boolean => new URL(url).pathname.endsWith('.wasm');

const warnOf = (what: string) => (error: unknown) =>
  console.warn(`localtext: ${what} is not stored for offline use:`, error);

/** List of files beside a service worker that another tool than the Vite plugin has bundled. */
const OWN_FILES = 'localtext-sw-files.js';

/**
 * Creates the stores of the site's files. Call it while the script is evaluated: a service worker cannot
 * import later.
 * @param site all of the site's files that are not large, if localtext keeps them
 */
export function ownFiles(site?: readonly SiteFile[]) {
  const isListLost = !self.__LOCALTEXT_LARGE_FILES__ && !importList();
  return {
    /** Files kept from the installation on. */
    small: site
      ? new SiteFiles('localtext-precache', site)
      : new SiteFiles('localtext-small-files', self.__LOCALTEXT_SMALL_FILES__, isListLost),
    /**
     * Files kept when first used. Otherwise a first visit would wait for tens of megabytes before it could send
     * a request.
     */
    large: new SiteFiles('localtext-large-files', self.__LOCALTEXT_LARGE_FILES__),
  };
}

/**
 * Imports the list. The browser stores it, and compares it too when it looks for an update.
 * @returns false: it could not be fetched, or is no script
 */
function importList(): boolean {
  try {
    self.importScripts(trustedScriptUrl(new URL(OWN_FILES, self.location.href)));
    return true;
  } catch (error) {
    warnOf(`what ${OWN_FILES} lists`)(error);
    // In a module, imports throw a TypeError.
    return error instanceof TypeError;
  }
}
