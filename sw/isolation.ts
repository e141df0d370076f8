import { isolates } from '#protocol';

declare const self: ServiceWorkerGlobalScope;

const COOP = 'cross-origin-opener-policy';
const COEP = 'cross-origin-embedder-policy';

/**
 * Whether the browser has COEP `credentialless`, which loads other origins' images and scripts without
 * cookies. WebKit lacks it, also as Chrome on iOS. Firefox for Android lacks it too; its user agent has its
 * own version instead of the desktop's 20100101.
 */
const hasCredentialless = (): boolean => /(Chrome|20100101 Firefox)\//.test(navigator.userAgent);

const named = (url: string): boolean => isolates(self.location.href, url);

/** Whether the answer to a request may need isolation headers: a page at a named path, or a worker. */
export function concernsIsolation({ mode, destination, url }: Request): boolean {
  return mode === 'navigate' ? named(url) : destination === 'worker' && self.location.search !== '';
}

/**
 * Adds the headers that make a page cross-origin isolated, as WASM threads require. Headers of the host stay:
 * those that prevent isolation, too. A worker of an isolated page may start only if its script has COEP.
 */
export async function isolate({ request, clientId }: FetchEvent, response: Response): Promise<Response> {
  const { status, headers: sent } = response;
  const opener = sent.get(COOP)?.split(';')[0]?.trim();
  // A redirect of a navigation, or another origin's answer, is opaque: it can only be passed on as it is.
  if (status === 0 || sent.has(COEP) || (opener ?? 'same-origin') !== 'same-origin') return response;
  const isPage = request.mode === 'navigate';
  if (!isPage && !(await isOfIsolatedPage(clientId))) return response;
  const isolated = new Response([204, 205, 304].includes(status) ? null : response.body, response);
  if (isPage && !opener) isolated.headers.set(COOP, 'same-origin');
  isolated.headers.set(COEP, hasCredentialless() ? 'credentialless' : 'require-corp');
  return isolated;
}

/**
 * Whether the creator of a worker is a page at a named path. A worker that creates another does not tell its page: the
 * open pages decide then. `clients.get()` would wait for a module worker that is loading, whose imports ask this.
 */
async function isOfIsolatedPage(clientId: string): Promise<boolean> {
  const pages = await self.clients.matchAll({ type: 'window' });
  const creator = pages.find(({ id }) => id === clientId);
  return (creator ? [creator] : pages).some(({ url }) => named(url));
}
