import { readStream, shared, type NetworkFirst } from '#base';
import { putWhole } from '#browser';
import type { BuildFiles } from '#service-worker';

declare const self: ServiceWorkerGlobalScope;

const CACHE = `localtext-seen-pages ${self.registration.scope}`;
/** Limits of what is stored in all; the entries stored first are deleted first. */
const MAX_ENTRIES = 500;
const MAX_BYTES = 50e6;
/** Larger pages and files are not stored. */
const MAX_ENTRY_BYTES = 5e6;
/** Header of a stored request, with the size of the stored body. */
const SIZE = 'localtext-bytes';
/** What a page is made of. Sound and video are asked for in ranges. */
const PARTS = new Set(['script', 'style', 'font', 'image', 'manifest', 'worker', 'sharedworker']);

/**
 * Pages that a server renders, and the files that they load: they come from the network, and the last answer
 * is stored for use without one.
 * @param onServed receives the client of each page that came from the network
 */
export function seenPages(
  { offlinePage }: NetworkFirst,
  files: BuildFiles,
  onServed: (clientId: string, response: Response) => void,
) {
  /** Parts of pages that were stored since this worker started: their content rarely changes. */
  const storedParts = new Set<string>();
  const prune = shared(async () => {
    const cache = await caches.open(CACHE);
    let entries = 0;
    let bytes = 0;
    for (const key of (await cache.keys()).toReversed()) {
      bytes += Number(key.headers.get(SIZE));
      if (++entries <= MAX_ENTRIES && bytes <= MAX_BYTES) continue;
      storedParts.delete(key.url);
      await cache.delete(key);
    }
  });

  async function answer(event: FetchEvent, isPage: boolean): Promise<Response> {
    const { request } = event;
    const url = bare(request.url);
    try {
      const response = await fetch(request);
      if (isPage) onServed(event.resultingClientId, response);
      if (!storedParts.has(url)) event.waitUntil(store(url, isPage, response.clone()).catch(warn));
      return response;
    } catch (error) {
      const stored = await find(request, isPage).catch(warn);
      if (stored) return stored;
      throw error;
    }
  }

  async function find(request: Request, isPage: boolean): Promise<Response | undefined> {
    const cache = await caches.open(CACHE);
    const seen = await cache.match(bare(request.url));
    if (seen || !isPage) return seen;
    const built = await files(request, true);
    if (built || offlinePage === undefined) return built;
    return files(new Request(new URL(offlinePage, self.location.href)));
  }

  async function store(url: string, isPage: boolean, response: Response): Promise<void> {
    await cleared;
    const { body, headers, status } = response;
    const cache = await caches.open(CACHE);
    if (body === null || !isStorable(response, isPage)) {
      // Not awaited: it ends only with the page's own copy.
      void body?.cancel();
      // The server no longer shows this page, or shows it to one visitor only: sign-out, for example.
      if (isPage && status < 500) await cache.delete(url);
      return;
    }
    const bytes = await readStream(
      body,
      MAX_ENTRY_BYTES,
      () => new Error(`${url} has more than ${MAX_ENTRY_BYTES} bytes.`),
      new AbortController().signal,
    );
    const kept = new Headers(headers);
    // The address alone finds it.
    kept.delete('vary');
    const key = new Request(url, { headers: { [SIZE]: String(bytes.length) } });
    await putWhole(cache, key, bytes, kept);
    if (!isPage) storedParts.add(url);
    await prune();
  }

  return {
    /** Answers a page, or a file of one that the build does not list. Undefined: neither is requested. */
    respond(event: FetchEvent): Promise<Response> | undefined {
      const { request } = event;
      const isPage = request.mode === 'navigate';
      if (!isPage) {
        const kept = files(request);
        if (kept) return kept;
      }
      if (request.method !== 'GET' || request.headers.has('range')) return undefined;
      if (!isOwn(request.url) || !(isPage || PARTS.has(request.destination))) return undefined;
      return answer(event, isPage);
    },
    /** Stores what a page loaded before this worker controlled it. */
    async addLoaded(page: string, parts: readonly string[]): Promise<void> {
      // An address with a query may be valid once.
      if (isOwn(page) && !page.includes('?')) {
        const response = await fetch(bare(page), { headers: { accept: 'text/html' }, redirect: 'manual' });
        await store(bare(page), true, response);
      }
      const loads = parts
        .filter(isOwn)
        .slice(0, MAX_ENTRIES)
        .map(async (url) => {
          const listed = files(new Request(url));
          if (listed) void (await listed).body?.cancel();
          else await store(bare(url), false, await fetch(url));
        });
      for (const { reason } of (await Promise.allSettled(loads)).filter((load) => load.status === 'rejected'))
        warn(reason);
    },
  };
}

/** Ends when what was stored under an earlier build is deleted: its pages may load files that are gone. */
let cleared: Promise<unknown> = Promise.resolve();

export const clearSeenPages = (): Promise<unknown> => (cleared = caches.delete(CACHE));

const isOwn = (url: string): boolean => new URL(url).origin === self.location.origin;
const bare = (url: string): string => url.replace(/#.*/, '');

/** Whether an answer may be stored: whole, of this origin, of the requested kind, and not of one visitor. */
function isStorable({ status, type, headers }: Response, isPage: boolean): boolean {
  const isHtml = headers.get('content-type')?.startsWith('text/html') ?? false;
  const isPrivate =
    /no-store|private/i.test(headers.get('cache-control') ?? '') ||
    /\*|cookie|authorization/i.test(headers.get('vary') ?? '');
  return status === 200 && type === 'basic' && isHtml === isPage && !isPrivate;
}

const warn = (error: unknown): void => console.warn('localtext: not stored for offline use:', error);
