import type OpenAI from 'openai';
import { handle } from './localtext.ts';
import { ownRequestId } from './own-requests.ts';
import { playgroundKey, renewKey } from './playground-key.ts';

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
    fetch: fetchWithFreshKey,
  });
}

async function fetchWithFreshKey(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const { fetch } = await handle;
  const headers = new Headers(init?.headers);
  headers.set('x-request-id', ownRequestId());
  const response = await fetch(input, { ...init, headers });
  if (response.status !== 401) return response;
  headers.set('x-request-id', ownRequestId());
  headers.set('authorization', `Bearer ${await renewKey()}`);
  return await fetch(input, { ...init, headers });
}
