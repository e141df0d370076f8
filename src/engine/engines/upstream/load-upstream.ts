import { APIError, OpenAI } from 'openai';
import type { UpstreamVariant } from '../../../catalog/catalog.ts';
import type { ChatEngine, EmbeddingEngine, EngineContext } from '../../engine.ts';
import { UpstreamChatEngine } from './upstream-chat.ts';
import { UpstreamEmbeddingEngine } from './upstream-embedding.ts';
import { asUpstreamFailure, redirected } from './upstream-failures.ts';

/** Until a stream's first byte: a server that is silent for longer counts as down, and the next variant answers. */
const STREAM_TIMEOUT_MS = 60_000;
/** Until all embeddings are there, which must be before the service gives up. */
const EMBEDDING_TIMEOUT_MS = 240_000;
/** A server that does not list its models in this time counts as down, and the next variant is tried. */
const PROBE_MS = 3000;

/** An OpenAI-compatible server in the place of weights. `key` stays in this worker, and out of every message. */
export async function loadUpstream(
  variant: UpstreamVariant,
  context: EngineContext,
  { key }: { key: string | undefined },
): Promise<ChatEngine | EmbeddingEngine> {
  const client = new OpenAI({
    baseURL: variant.baseUrl,
    apiKey: key ?? 'none',
    timeout: variant.dimensions === undefined ? STREAM_TIMEOUT_MS : EMBEDDING_TIMEOUT_MS,
    fetch: fetchWithoutRedirects,
    // The client retries, and sees the headers that say when.
    maxRetries: 0,
    // It means keys in pages of anybody's; this one is the site's own choice.
    dangerouslyAllowBrowser: true,
    // The server's own CORS rules need not know the SDK's headers.
    defaultHeaders: OWN_HEADERS,
  });
  const { passThrough } = variant;
  const failures = { key, ...(passThrough && { passThrough }) };
  try {
    await client.models.list({ signal: context.signal, timeout: PROBE_MS });
  } catch (error) {
    context.signal.throwIfAborted();
    // A server that is there but gives no list is good enough.
    const isThere =
      error instanceof APIError && [404, 429, ...(passThrough ?? [])].includes(error.status ?? 0);
    if (!isThere) throw asUpstreamFailure(error, failures);
  }
  return variant.dimensions === undefined
    ? new UpstreamChatEngine(client, variant, failures)
    : new UpstreamEmbeddingEngine(client, variant, failures);
}

/** Followed, a redirect would take the text to a host that the site did not name. */
async function fetchWithoutRedirects(url: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, { ...init, redirect: 'manual' });
  // Browsers hide which redirect it is; Node shows its status.
  if (response.type === 'opaqueredirect' || REDIRECTS.has(response.status)) throw redirected();
  return response;
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

const OWN_HEADERS = Object.fromEntries(
  ['arch', 'lang', 'os', 'package-version', 'retry-count', 'runtime', 'runtime-version', 'timeout'].map(
    (name) => [`x-stainless-${name}`, null],
  ),
);
