import { isV1Path } from '#base';
import { joinElection } from './election/join.ts';
import { loadChunk } from './load-chunk.ts';
import { missingApis, requireBrowser } from './requirements.ts';
import { siteScope } from './site.ts';
import { engineSettings, type StartOptions } from './start-options.ts';

/**
 * Creates a `fetch` that answers `/v1` in this page, for browsers that allow no service worker. Everything
 * else goes to the page's own `fetch`. The service's code is fetched with the first request. Its keys and
 * models are those of the app at the site's base.
 * @example
 * import { createFetch, keys } from 'localtext';
 * import OpenAI from 'openai';
 * const { key } = await keys.ensure({ label: 'my app' });
 * const baseURL = `${location.origin}/v1`;
 * const client = new OpenAI({ baseURL, apiKey: key, fetch: createFetch(), dangerouslyAllowBrowser: true });
 */
export function createFetch(options: Omit<StartOptions, 'serviceWorker' | 'isolation'> = {}): typeof fetch {
  // A browser that cannot work refuses each request, with the reason.
  if (missingApis().length > 0) return async () => requireBrowser() as Promise<never>;
  const { member } = joinElection(siteScope(), engineSettings(options));
  // A srcdoc frame's address has no origin, and a sandboxed page has that of its address alone.
  const origins = new Set([globalThis.origin, location.origin]);
  let service: Promise<(request: Request) => Promise<Response>> | null = null;

  return async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input, document.baseURI);
    if (!origins.has(url.origin) || !isV1Path(url.pathname)) return fetch(input, init);
    service ??= loadChunk(import('./page-service.ts')).then((module) => module.pageService(member, options));
    // The next request retries the import.
    service.catch(() => (service = null));
    return (await service)(new Request(input, init));
  };
}
