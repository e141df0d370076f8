import { createServer, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserContext, Page } from 'playwright';
import { beforeAll, describe, expect, inject, test } from 'vitest';

import type { Catalog, Variant } from '../../src/catalog/catalog.ts';
import { defaultCatalog } from '../../src/catalog/default-catalog.ts';
import { AlteredSite } from '../support/altered-site.ts';
import { openPage } from '../support/open-page.ts';
import { smallChat } from '../support/small-chat.ts';
import { launchWithWeights } from '../support/stored-weights.ts';
import { listen } from '../support/listen.ts';

/** What the OpenAI client makes of failures that are found late: it has its own classes for statuses alone. */

const embedder = defaultCatalog.models.find(({ kind }) => kind === 'embedding');
if (!embedder) throw new Error('the default catalog has no embedding model');
/** Longer than any deadline of a second or two. */
const LATE_MS = 3000;

/** A server that refuses every chat, late. */
async function refusingServer() {
  const answer = (response: ServerResponse, status: number, body: object) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  };
  const server = createServer((request, response) => {
    response.setHeader('access-control-allow-origin', '*');
    response.setHeader('access-control-allow-headers', 'authorization, content-type');
    if (request.method === 'OPTIONS') return response.end();
    if (request.url === '/v1/models') return answer(response, 200, { object: 'list', data: [] });
    const error = {
      message: 'This server has no such voice.',
      type: 'invalid_request_error',
      code: 'no_voice',
    };
    return sleep(LATE_MS).then(() => answer(response, 400, { error: { ...error, param: 'messages' } }));
  });
  return listen(server);
}

let context: BrowserContext;
let site: AlteredSite;
let page: Page;
let key: string;

beforeAll(async () => {
  const { variant: small, serve } = await smallChat();
  /** Its bytes are there, and its hash is another: found once all of it has been read. */
  const files = small.files.map((file) => ({ ...file, sha256: '0'.repeat(64) }));
  const broken: Variant = { ...small, name: 'broken', files };
  site = await AlteredSite.start(inject('siteUrl'));
  serve(site);
  const upstream: Variant = {
    engine: 'upstream',
    name: 'refusing',
    license: 'MIT',
    contextLength: 2048,
    files: [],
    baseUrl: `${await refusingServer()}/v1`,
    model: 'm',
  };
  const chat = (id: string, variant: Variant) => ({
    id,
    kind: 'chat' as const,
    created: 1,
    variants: [variant],
  });
  const catalog: Catalog = {
    ownedBy: 'test',
    models: [chat('small', small), chat('broken', broken), chat('refusing', upstream), embedder],
  };
  context = await launchWithWeights({ servedBy: site.url });
  const options = encodeURIComponent(JSON.stringify({ catalog }));
  ({ page, key } = await openPage(context, inject('siteUrl'), `/test-page.html#options=${options}`));
  await page.evaluate(async () => (await window.localtext).ready('small'));
});

interface Seen {
  kind: string;
  status: number | undefined;
  code: string | null | undefined;
  /** Requests that the client sent: more than one, and it has tried again. */
  requests: number;
}

/** Runs a request with the client's default retries. */
const failure = (
  endpoint: 'chat' | 'completions' | 'responses' | 'embeddings',
  body: Record<string, unknown>,
) =>
  page.evaluate(
    async ([apiKey, at, parameters]): Promise<Seen> => {
      let requests = 0;
      const counting: typeof fetch = (...args) => {
        requests++;
        return fetch(...args);
      };
      const client = new window.OpenAI({
        apiKey,
        baseURL: `${location.origin}/v1`,
        dangerouslyAllowBrowser: true,
        fetch: counting,
      });
      const path = {
        chat: '/chat/completions',
        completions: '/completions',
        responses: '/responses',
        embeddings: '/embeddings',
      }[at];
      try {
        // As each of the client's methods does.
        await client.post(path, { body: parameters, stream: parameters['stream'] === true });
        throw new Error('it was answered');
      } catch (error) {
        const { BadRequestError, InternalServerError } = window.OpenAI;
        const kinds = Object.entries({ BadRequestError, InternalServerError });
        const kind = kinds.find(([, type]) => error instanceof type)?.[0] ?? String(error);
        const { status, code } = error as { status?: number; code?: string | null };
        return { kind, status, code, requests };
      }
    },
    [key, endpoint, body] as const,
  );

const messages = [{ role: 'user', content: 'Say hello.' }];
const huge = 'owl '.repeat(2 ** 20);
const unbalanced = {
  type: 'object',
  properties: { a: { type: 'string', pattern: '^(a$' } },
  required: ['a'],
  additionalProperties: false,
};
const format = { type: 'json_schema', json_schema: { name: 'a', strict: true, schema: unbalanced } };
const refusal = { kind: 'BadRequestError', status: 400, requests: 1 };
const tooLong = { ...refusal, code: 'context_length_exceeded' };

describe.each([{ stream: false }, { stream: true }])('the openai package, stream: $stream', ({ stream }) => {
  test('raises a BadRequestError, once, for a prompt of 4 MiB', async () => {
    const chat = { model: 'small', messages: [{ role: 'user', content: huge }], stream };
    expect(await failure('chat', chat)).toMatchObject(tooLong);
    expect(await failure('completions', { model: 'small', prompt: huge, stream })).toMatchObject(tooLong);
    expect(await failure('responses', { model: 'small', input: huge, stream })).toMatchObject(tooLong);
  });

  test('raises a BadRequestError, once, for a schema that cannot be enforced', async () => {
    const body = { model: 'small', messages, stream, response_format: format, max_tokens: 4 };
    expect(await failure('chat', body)).toMatchObject(refusal);
  });

  test('raises an InternalServerError, once, for weights that cannot be loaded', async () => {
    const lost = { kind: 'InternalServerError', status: 500, code: 'weights_corrupt', requests: 1 };
    expect(await failure('chat', { model: 'broken', messages, stream })).toMatchObject(lost);
  });

  test("raises a BadRequestError, once, for an upstream's 400", async () => {
    const seen = await failure('chat', { model: 'refusing', messages, stream });
    expect(seen).toMatchObject({ ...refusal, code: 'no_voice' });
  });
});

test('an embedding whose text is too long is a 400, once', async () => {
  const body = { model: 'jade-mole-4', input: ['short', huge] };
  expect(await failure('embeddings', body)).toMatchObject(tooLong);
});

test('what runs beside a refused request is answered', async () => {
  const [refused, answered] = await Promise.all([
    failure('chat', { model: 'small', messages: [{ role: 'user', content: huge }] }),
    page.evaluate(async (apiKey) => {
      const body = {
        model: 'small',
        messages: [{ role: 'user' as const, content: 'Hi.' }],
        max_tokens: 2,
        temperature: 0,
      };
      return (await window.client(apiKey).chat.completions.create(body)).choices[0]?.finish_reason;
    }, key),
  ]);
  expect(refused).toMatchObject(tooLong);
  expect(answered).toBe('length');
});
