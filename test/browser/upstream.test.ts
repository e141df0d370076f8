import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BrowserContext, Page } from 'playwright';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

import type { Catalog, UpstreamVariant } from '../../src/catalog/catalog.ts';
import { defaultCatalog } from '../../src/catalog/default-catalog.ts';
import { launch } from '../support/launch.ts';
import { LlamaServer } from '../support/llama-server/llama-server.ts';
import { openPage } from '../support/open-page.ts';

const SECRET = 'sk-of-the-site-5f1c';

/** A gateway before a server, as sites have them: it lists models, and limits the rate. */
async function busyGateway() {
  const keys: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    response.setHeader('access-control-allow-origin', '*');
    response.setHeader('access-control-allow-headers', 'authorization, content-type');
    response.setHeader('access-control-expose-headers', 'retry-after');
    response.setHeader('content-type', 'application/json');
    if (request.method === 'OPTIONS') return response.end();
    keys.push(request.headers.authorization);
    if (request.url === '/v1/models') return response.end('{"object":"list","data":[]}');
    response.writeHead(429, { 'retry-after': '7' });
    return response.end(
      JSON.stringify({ error: { message: 'Too many requests.', type: 'rate_limit_error', code: null } }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, keys, close: () => server.close() };
}

const small = defaultCatalog.models[0]?.variants.at(-1);
if (!small) throw new Error('the default catalog has no small weights');
const weights = `public/models/${small.files[0]?.path}`;

let context: BrowserContext;
let llama: LlamaServer;
let gateway: Awaited<ReturnType<typeof busyGateway>>;
let page: Page;
let key: string;

beforeAll(async () => {
  llama = await LlamaServer.start(weights, SECRET);
  gateway = await busyGateway();
  const server = (name: string, url: string): UpstreamVariant => ({
    engine: 'upstream',
    name,
    license: 'Apache-2.0',
    contextLength: 2048,
    files: [],
    baseUrl: `${url}/v1`,
    model: 'smollm2',
  });
  const catalog: Catalog = {
    ownedBy: 'test',
    models: [
      { id: 'served', kind: 'chat', created: 1, variants: [server('llama', llama.url), small] },
      { id: 'refused', kind: 'chat', created: 1, variants: [server('wrong-key', llama.url)] },
      { id: 'limited', kind: 'chat', created: 1, variants: [server('gateway', gateway.url)] },
    ],
  };
  const upstreamKeys = { llama: SECRET, 'wrong-key': 'sk-an-old-one', gateway: SECRET };
  context = await launch();
  const options = encodeURIComponent(JSON.stringify({ catalog, upstreamKeys }));
  ({ page, key } = await openPage(context, inject('siteUrl'), `/test-page.html?options=${options}`));
});

afterAll(async () => {
  await context.close();
  await llama.stop();
  gateway.close();
});

const request = {
  model: 'served',
  messages: [{ role: 'user' as const, content: 'Name three colours of the sky.' }],
  temperature: 0,
  max_tokens: 24,
};

test('streamed or not, the reply is the server’s, and so are its counts', async () => {
  const direct = await llama.ask({ ...request, top_p: 1 });
  expect(direct.text.length).toBeGreaterThan(20);
  const { whole, streamed } = await page.evaluate(
    async ({ apiKey, body }) => {
      const client = window.client(apiKey);
      const reply = await client.chat.completions.create(body);
      const pieces: string[] = [];
      const stream = await client.chat.completions.create({
        ...body,
        stream: true,
        stream_options: { include_usage: true },
      });
      let usage;
      for await (const chunk of stream) {
        if (chunk.choices[0]?.delta.content) pieces.push(chunk.choices[0].delta.content);
        usage = chunk.usage ?? usage;
      }
      return {
        whole: { ...reply, text: reply.choices[0]?.message.content },
        streamed: { pieces, usage },
      };
    },
    { apiKey: key, body: request },
  );
  expect(whole.text).toBe(direct.text);
  expect(whole.system_fingerprint).toBe('llama-upstream');
  expect(streamed.pieces.join('')).toBe(direct.text);
  expect(streamed.pieces.length).toBeGreaterThan(10);
  for (const usage of [whole.usage, streamed.usage]) {
    expect(usage).toMatchObject({
      prompt_tokens: direct.promptTokens,
      completion_tokens: direct.completionTokens,
    });
  }
});

test('a JSON schema and a function call are enforced by the server', async () => {
  const { person, call } = await page.evaluate(
    async ({ apiKey, model }) => {
      const client = window.client(apiKey);
      const messages = [{ role: 'user' as const, content: 'Ann is 7. What is the weather in Oslo?' }];
      const schema = {
        type: 'object',
        properties: { name: { type: 'string', maxLength: 10 }, age: { type: 'integer', maximum: 99 } },
        required: ['name', 'age'],
        additionalProperties: false,
      };
      const format = { type: 'json_schema' as const, json_schema: { name: 'person', schema, strict: true } };
      const common = { model, messages, temperature: 0, max_tokens: 60 };
      const held = await client.chat.completions.create({ ...common, response_format: format });
      const parameters = {
        type: 'object',
        properties: { city: { type: 'string', maxLength: 12 } },
        required: ['city'],
        additionalProperties: false,
      };
      const tools = [{ type: 'function' as const, function: { name: 'weather', parameters } }];
      const called = await client.chat.completions.create({ ...common, tools, tool_choice: 'required' });
      const [first] = called.choices[0]?.message.tool_calls ?? [];
      return { person: held.choices[0]?.message.content, call: first?.type === 'function' && first.function };
    },
    { apiKey: key, model: request.model },
  );
  expect(JSON.parse(person ?? '')).toEqual({
    name: expect.any(String) as string,
    age: expect.any(Number) as number,
  });
  expect(call).toMatchObject({ name: 'weather' });
  expect(JSON.parse(call ? call.arguments : '')).toEqual({ city: expect.any(String) as string });
});

test('an abort stops the server’s work', async () => {
  await page.evaluate(
    async ({ apiKey, body }) => {
      const messages = [{ role: 'user' as const, content: 'Count to a thousand.' }];
      const stream = await window
        .client(apiKey)
        .chat.completions.create({ ...body, messages, max_tokens: 1500, stream: true });
      // Leaving the loop aborts the request.
      for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
    },
    { apiKey: key, body: request },
  );
  await expect.poll(() => llama.metric('requests_processing'), { timeout: 5000, interval: 100 }).toBe(0);
  const after = await llama.metric('tokens_predicted_total');
  await new Promise((resolve) => setTimeout(resolve, 1000));
  expect(await llama.metric('tokens_predicted_total')).toBe(after);
  expect(after).toBeLessThan(800);
});

const failure = (model: string) =>
  page.evaluate(
    async ({ apiKey, body }) => {
      const response = await fetch('/v1/chat/completions', {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      return {
        status: response.status,
        retryAfter: response.headers.get('retry-after'),
        body: await response.text(),
      };
    },
    { apiKey: key, body: { ...request, model } },
  );

test('a refused key and a limit are told, the limit with its wait', async () => {
  const refused = await failure('refused');
  expect(refused).toMatchObject({ status: 500 });
  expect(JSON.parse(refused.body)).toMatchObject({ error: { code: 'upstream_refused' } });
  const limited = await failure('limited');
  expect(limited).toMatchObject({ status: 429, retryAfter: '7' });
  expect(JSON.parse(limited.body)).toMatchObject({
    error: { type: 'rate_limit_error', message: 'Too many requests.' },
  });
  // The server is asked with the site's key, and never with that of whoever asks here.
  expect(new Set(gateway.keys)).toEqual(new Set([`Bearer ${SECRET}`]));
});

test('the site’s key is nowhere that callers can look', async () => {
  const seen = await page.evaluate(async (apiKey) => {
    const headers = { authorization: `Bearer ${apiKey}` };
    const models = await (await fetch('/v1/models', { headers })).text();
    const model = await (await fetch('/v1/models/served', { headers })).text();
    const status = JSON.stringify(await (await window.localtext).status());
    const databases = (await indexedDB.databases()).map(({ name }) => name);
    const stored = JSON.stringify({ ...localStorage, ...sessionStorage });
    return { models, model, status, stored, databases };
  }, key);
  const refused = await failure('refused');
  expect(seen.model).toContain('llama');
  expect(JSON.stringify([seen, refused])).not.toContain(SECRET);
  expect(JSON.stringify([seen, refused])).not.toContain('sk-an-old-one');
});

test('when the server goes down, the device answers', async () => {
  await llama.stop();
  const { text, fingerprint } = await page.evaluate(
    async ({ apiKey, body }) => {
      // As the client does by itself: the request that found the server gone is put again.
      const client = window.client(apiKey, { maxRetries: 2 });
      const { choices, system_fingerprint } = await client.chat.completions.create({
        ...body,
        max_tokens: 4,
      });
      return { text: choices[0]?.message.content, fingerprint: system_fingerprint };
    },
    { apiKey: key, body: request },
  );
  expect(text?.length).toBeGreaterThan(0);
  expect(fingerprint).toMatch(new RegExp(`^${small.name}`));
  const { models } = await page.evaluate(async () => (await window.localtext).status());
  expect(models[0]?.reasons?.find(({ variant }) => variant === 'llama')).toMatchObject({
    chosen: false,
    reason: expect.stringMatching(
      /could not be loaded: The server behind this model does not answer/,
    ) as string,
  });
});
