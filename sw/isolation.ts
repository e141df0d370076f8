import { hasCredentialless, readIsolation, readStartedPaths } from '#database';
import { ISOLATED_MARK, scopeOf } from '#protocol';
import { withTimeout } from '#base';

declare const self: ServiceWorkerGlobalScope;

const COOP = 'cross-origin-opener-policy';
const COEP = 'cross-origin-embedder-policy';

/** How long a page waits for the record. Chromium's storage can stop answering when the user clears it. */
const READ_MS = 1000;

/**
 * Makes pages cross-origin isolated, as WASM threads require, if the host leaves that open and isolation is
 * not known to break them. A worker's script needs the header too, or an isolated page may not start it.
 */
export async function isolate(request: Request, response: Response): Promise<Response> {
  const { status, headers: sent } = response;
  const opener = sent.get(COOP)?.split(';')[0]?.trim();
  // A redirect of a navigation, or another origin's answer, is opaque: it can only be passed on as it is.
  if (status === 0 || sent.has(COEP) || (opener ?? 'same-origin') !== 'same-origin') return response;
  // The headers would restrict the page without giving it threads.
  if (sent.get('permissions-policy')?.includes('cross-origin-isolated=()')) return response;
  const isPage = !request.destination.endsWith('worker');
  if (isPage && !(await mayIsolate(request))) return response;
  const isolated = new Response([204, 205, 304].includes(status) ? null : response.body, response);
  const { headers } = isolated;
  if (isPage && !opener) headers.set(COOP, 'same-origin');
  headers.set(COEP, hasCredentialless() ? 'credentialless' : 'require-corp');
  headers.append('server-timing', ISOLATED_MARK);
  return isolated;
}

/** Whether a page may be isolated; null: the record cannot be read. */
function mayIsolate({ url, destination }: Request): Promise<boolean | null> {
  const scope = scopeOf(self.registration.scope);
  // An isolated page shows no frame that lacks the header.
  const parents = destination === 'iframe' ? self.clients.matchAll() : [];
  const reading = Promise.all([readIsolation(scope), readStartedPaths(scope), parents]).then(
    ([{ need }, paths, pages]) =>
      need === null && [{ url }, ...pages].some((page) => paths.includes(new URL(page.url).pathname)),
    () => null,
  );
  return withTimeout(reading, READ_MS);
}

/** Whether the headers of this request's answer decide on isolation. */
export function decidesIsolation(request: Request): boolean {
  return /^(document|iframe|(shared)?worker)$/.test(request.destination);
}
