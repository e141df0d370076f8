import type OpenAI from 'openai';
import { nameBreaks } from './name-breaks.ts';
import { handle } from './localtext.ts';
import { ownRequestId } from './own-requests.ts';

let client: Promise<OpenAI> | null = null;

/** The official client with this page's /v1 as its base URL, as in any application. */
export function openai(): Promise<OpenAI> {
  client ??= create();
  return client;
}

async function create(): Promise<OpenAI> {
  const [{ default: Client }, { baseURL }] = await Promise.all([import('openai'), handle]);
  return new Client({
    baseURL,
    apiKey: playgroundKey,
    dangerouslyAllowBrowser: true,
    // Show errors at once, with a Retry button, instead of retrying silently.
    maxRetries: 0,
    timeout: 60 * 60 * 1000,
    fetch: Object.assign(fetchWithFreshKey, { Response }),
  });
}

async function fetchWithFreshKey(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const { fetch } = await handle;
  const headers = new Headers(init?.headers);
  headers.set('x-request-id', ownRequestId());
  const response = await fetch(input, { ...init, headers });
  if (response.status !== 401) return nameBreaks(response);
  headers.set('x-request-id', ownRequestId());
  headers.set('authorization', `Bearer ${await renewKey()}`);
  return nameBreaks(await fetch(input, { ...init, headers }));
}

let known: Promise<string> | null = null;

/** The key that this page asks /v1 with. localtext keeps it, for every tab. */
async function playgroundKey(): Promise<string> {
  return await (known ?? renewKey());
}

/** Issues a new key after a 401: the old key was revoked, has expired, or its store was cleared. */
async function renewKey(): Promise<string> {
  const renewed = handle.then(async ({ keys }) => (await keys.ensure({ label: 'Playground' })).key);
  known = renewed;
  renewed.catch(() => {
    if (known === renewed) known = null;
  });
  return await renewed;
}
