import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BrowserContext, Page } from 'playwright';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

import type { Catalog, UpstreamVariant } from '../../src/catalog/catalog.ts';
import { defaultCatalog } from '../../src/catalog/default-catalog.ts';
import { launchWithWeights } from '../support/stored-weights.ts';
import { startFaultProxy, type Fault } from '../support/llama-server/fault-proxy.ts';
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

/** Each with a separate model: a server that was passed over rests for seconds. */
const passedOver: [string, Fault, boolean, RegExp][] = [
  ['refuses-the-key', { type: 'status', status: 401 }, false, /refused the key/],
  [
    'asks-for-a-long-wait',
    { type: 'status', status: 429, headers: { 'retry-after': '12' } },
    true,
    /answered 429/,
  ],
  ['fails', { type: 'status', status: 503 }, false, /failed \(503\)/],
  ['breaks-the-connection', { type: 'break', afterBytes: 0 }, true, /cannot be reached/],
  ['allows-no-other-origin', { type: 'no CORS' }, false, /Access-Control-Allow-Origin: http/],
  ['redirects', { type: 'status', status: 307, headers: { location: '/v1/elsewhere' } }, true, /redirects/],
];

let context: BrowserContext;
let llama: LlamaServer;
let gateway: Awaited<ReturnType<typeof busyGateway>>;
let proxy: Awaited<ReturnType<typeof startFaultProxy>>;
let page: Page;
let key: string;
/** Of the service worker's console. */
const warnings: string[] = [];

beforeAll(async () => {
  llama = await LlamaServer.start(weights, SECRET);
  gateway = await busyGateway();
  proxy = await startFaultProxy(llama.url);
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
      { id: 'behind', kind: 'chat', created: 1, variants: [server('proxied', proxy.url), small] },
      { id: 'alone', kind: 'chat', created: 1, variants: [server('proxied-alone', proxy.url)] },
      { id: 'refused', kind: 'chat', created: 1, variants: [server('wrong-key', llama.url)] },
      {
        id: 'told',
        kind: 'chat',
        created: 1,
        variants: [{ ...server('proxied-told', proxy.url), passThrough: [401, 503] }, small],
      },
      { id: 'limited', kind: 'chat', created: 1, variants: [server('gateway', gateway.url)] },
      ...passedOver.map(([id]) => ({
        id,
        kind: 'chat' as const,
        created: 1,
        variants: [server(`proxied-${id}`, proxy.url), small],
      })),
    ],
  };
  const upstreamKeys = {
    llama: SECRET,
    proxied: SECRET,
    'proxied-alone': SECRET,
    'proxied-told': SECRET,
    ...Object.fromEntries(passedOver.map(([id]) => [`proxied-${id}`, SECRET])),
    'wrong-key': 'sk-an-old-one',
    gateway: SECRET,
  };
  context = await launchWithWeights();
  const options = encodeURIComponent(JSON.stringify({ catalog, upstreamKeys }));
  ({ page, key } = await openPage(context, inject('siteUrl'), `/test-page.html?options=${options}`));
  for (const worker of context.serviceWorkers())
    worker.on('console', (message) => message.type() === 'warning' && warnings.push(message.text()));
});

afterAll(async () => {
  await context.close();
  await llama.stop();
  gateway.close();
  proxy.close();
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
  expect(await llama.metric('tokens_predicted_total')).toBeLessThan(800);
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
  expect(refused).toMatchObject({ status: 401 });
  expect(JSON.parse(refused.body)).toMatchObject({ error: { code: 'upstream_refused' } });
  const limited = await failure('limited');
  expect(limited).toMatchObject({ status: 429, retryAfter: '7' });
  expect(JSON.parse(limited.body)).toMatchObject({
    error: { type: 'rate_limit_error', message: 'Too many requests.' },
  });
  // The server is asked with the site's key, and never with the caller's.
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

interface Fate {
  text: string;
  fingerprint: string | null | undefined;
  status: number | undefined;
  code: string | null | undefined;
}

/** One attempt, without the client's own retries. */
const fateOf = (model: string, stream: boolean, tokens = 4) =>
  page.evaluate(
    async ({ apiKey, body, streamed }): Promise<Fate> => {
      const client = window.client(apiKey);
      const fate: Fate = { text: '', fingerprint: null, status: undefined, code: undefined };
      try {
        if (streamed) {
          for await (const chunk of await client.chat.completions.create({ ...body, stream: true })) {
            fate.text += chunk.choices[0]?.delta.content ?? '';
            fate.fingerprint = chunk.system_fingerprint;
          }
        } else {
          const reply = await client.chat.completions.create(body);
          fate.text = reply.choices[0]?.message.content ?? '';
          fate.fingerprint = reply.system_fingerprint;
        }
      } catch (error) {
        ({ status: fate.status, code: fate.code } = error as Fate);
      }
      return fate;
    },
    { apiKey: key, body: { ...request, model, max_tokens: tokens }, streamed: stream },
  );

const reasonOf = async (variant: string) => {
  const { models } = await page.evaluate(async () => (await window.localtext).status());
  return models
    .flatMap(({ reasons = [] }) => reasons)
    .find((each) => each.variant === variant && !each.chosen)?.reason;
};

/** The server answers again by itself, at the latest some seconds after its pause. */
const recovered = () =>
  expect
    .poll(async () => (await fateOf('behind', false)).fingerprint, { timeout: 60_000, interval: 1000 })
    .toBe('proxied-upstream');

test.each(passedOver)(
  'when the server %s: the device answers in the same call',
  async (id, fault, stream, why) => {
    proxy.fault = { type: 'none' };
    expect((await fateOf(id, false)).fingerprint).toBe(`proxied-${id}-upstream`);
    proxy.fault = fault;
    const fate = await fateOf(id, stream);
    expect(fate).toMatchObject({ status: undefined, text: expect.stringMatching(/\S/) as string });
    expect(fate.fingerprint).toMatch(new RegExp(`^${small.name}`));
    expect(await reasonOf(`proxied-${id}`)).toMatch(why);
    const said = warnings.filter((text) => text.includes(`proxied-${id} is passed over`) && why.test(text));
    expect(said).toHaveLength(1);
    const asked = proxy.completions;
    expect((await fateOf(id, false)).fingerprint).toMatch(new RegExp(`^${small.name}`));
    expect(proxy.completions).toBe(asked);
  },
);

test('without another variant the status is the server’s, and a 400 always is', async () => {
  proxy.fault = { type: 'none' };
  await recovered();
  for (const [status, seen] of [
    [401, { status: 401, code: 'upstream_refused' }],
    [429, { status: 429, code: 'rate_limit_exceeded' }],
    [503, { status: 500, code: 'upstream_failed' }],
  ] as const) {
    proxy.fault = { type: 'status', status };
    expect(await fateOf('alone', status === 429)).toMatchObject(seen);
  }
  proxy.fault = { type: 'status', status: 400 };
  expect(await fateOf('behind', false)).toMatchObject({ status: 400 });
  // The site can choose more of them.
  proxy.fault = { type: 'status', status: 503 };
  expect(await fateOf('told', true)).toMatchObject({ status: 500, code: 'upstream_failed' });
  proxy.fault = { type: 'status', status: 500 };
  expect((await fateOf('told', true)).fingerprint).toMatch(new RegExp(`^${small.name}`));
  proxy.fault = { type: 'none' };
  expect((await fateOf('behind', false)).fingerprint).toBe('proxied-upstream');
});

test('a reply that breaks off is an error, streamed or not, and the device answers the next one', async () => {
  for (const stream of [false, true]) {
    proxy.fault = { type: 'none' };
    await recovered();
    proxy.fault = { type: 'break', afterBytes: 2000 };
    const fate = await fateOf('behind', stream, 100);
    expect(fate).toMatchObject({ status: stream ? undefined : 500, code: 'upstream_failed' });
    expect((await fateOf('behind', stream)).fingerprint).toMatch(new RegExp(`^${small.name}`));
  }
});

test('a request, or a key, that is limited to the device reaches no server, and a header says who answers', async () => {
  proxy.fault = { type: 'none' };
  await recovered();
  const before = proxy.requests;
  const answers = await page.evaluate(
    async ({ apiKey, body }) => {
      const { keys } = await window.localtext;
      const limited = (await keys.issue({ label: 'limited', deviceOnly: true })).key;
      const ask = async (bearer: string, route: string | null, model: string, stream: boolean) => {
        const response = await fetch('/v1/chat/completions', {
          method: 'POST',
          headers: {
            authorization: `Bearer ${bearer}`,
            'content-type': 'application/json',
            ...(route !== null && { 'localtext-route': route }),
          },
          body: JSON.stringify({ ...body, model, stream, max_tokens: 4 }),
        });
        const text = await response.text();
        return { status: response.status, by: response.headers.get('localtext-served-by'), text };
      };
      return {
        device: [
          await ask(apiKey, 'device', 'behind', false),
          await ask(apiKey, 'device', 'behind', true),
          await ask(limited, null, 'behind', true),
        ],
        refused: [await ask(apiKey, 'device', 'alone', true), await ask(limited, null, 'alone', false)],
        server: [await ask(apiKey, null, 'served', false), await ask(apiKey, null, 'served', true)],
      };
    },
    { apiKey: key, body: request },
  );
  for (const { status, by } of answers.device) {
    expect(status).toBe(200);
    expect(by).toMatch(new RegExp(`^${small.name}`));
  }
  for (const { status, text } of answers.refused) {
    expect(status).toBe(500);
    expect(text).toContain('model_unavailable');
    expect(text).toContain('limited to this device');
  }
  expect(answers.server.map(({ by }) => by)).toEqual(['llama-upstream', 'llama-upstream']);
  expect(proxy.requests).toBe(before);
});

test('when the server goes down, the device answers', async () => {
  await llama.stop();
  const { text, fingerprint } = await page.evaluate(
    async ({ apiKey, body }) => {
      const client = window.client(apiKey);
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
      /does not answer: The server behind this model cannot be reached/,
    ) as string,
  });
});
