import type { BrowserContext, Page } from 'playwright';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

import { small } from '../support/small-variant.ts';
import { openPage } from '../support/open-page.ts';
import { RayCluster } from '../support/ray-cluster.ts';
import { freePort } from '../support/static-site.ts';
import { launchWithWeights } from '../support/stored-weights.ts';
import { serverVariant, catalogOf, modelOf } from '../support/catalogs.ts';
import { dot, embed } from '../support/ask-page.ts';
import { send } from '../support/send.ts';

/** The example `ray-serve`: two replicas of a chat model, and one for embeddings. */

const SECRET = 'sk-of-the-cluster';

let context: BrowserContext;
let cluster: RayCluster;
let page: Page;
let key: string;

beforeAll(async () => {
  cluster = new RayCluster(await freePort(), SECRET);
  const own = { contextLength: 4096, model: 'smollm2-135m-instruct' };
  const server = serverVariant('ray', `${cluster.url}/v1`, own);
  const embedder = { ...server, name: 'ray-embeddings', dimensions: 384 };
  const catalog = catalogOf(
    modelOf('both', [server, small]),
    modelOf('cluster', [{ ...server, name: 'ray-alone' }]),
    modelOf('vectors', [embedder], 'embedding'),
  );
  const upstreamKeys = { ray: SECRET, 'ray-alone': SECRET, 'ray-embeddings': SECRET };
  context = await launchWithWeights();
  const opening = openPage(context, inject('siteUrl'), { catalog, upstreamKeys });
  await cluster.start();
  ({ page, key } = await opening);
  // The first run on a machine downloads the packages.
}, 600_000);

afterAll(async () => {
  await cluster.stop();
});

/** Goes on for long: the model's end of turn is ruled out. */
const endless = {
  model: 'cluster',
  messages: [{ role: 'user' as const, content: 'Count to a thousand.' }],
  logit_bias: { 2: -100 },
  max_tokens: 2000,
  stream: true as const,
};

/** Starts this many streams in the page; resolves when each has a token. */
const startStreams = (count: number) =>
  page.evaluate(
    async ({ apiKey, body, many }) => {
      const client = window.client(apiKey);
      window.streams = await Promise.all(
        Array.from({ length: many }, async () => {
          const stream = await client.chat.completions.create(body);
          const chunks = stream[Symbol.asyncIterator]();
          for (;;) {
            const { value, done } = await chunks.next();
            if (done || value.choices[0]?.delta.content)
              return { stop: () => stream.controller.abort(), chunks };
          }
        }),
      );
    },
    { apiKey: key, body: endless, many: count },
  );

/** One short answer, and who gave it. */
async function ask(model: string) {
  const json = { model, messages: [{ role: 'user', content: 'Hi.' }], max_tokens: 4 };
  const { status, headers } = await send(page, key, '/v1/chat/completions', json);
  return { status, by: headers['localtext-served-by'], retryAfter: headers['retry-after'] };
}

declare global {
  interface Window {
    streams: { stop(): void; chunks: AsyncIterator<unknown> }[];
  }
}

test('the cluster streams, keeps to a schema, calls functions, and embeds as the device does', async () => {
  const answers = await page.evaluate(async (apiKey) => {
    const client = window.client(apiKey);
    const messages = [{ role: 'user' as const, content: 'Ann is 7. Who is she?' }];
    const pieces: string[] = [];
    const stream = await client.chat.completions.create({
      model: 'both',
      messages,
      max_tokens: 12,
      stream: true,
    });
    for await (const { choices } of stream) pieces.push(choices[0]?.delta.content ?? '');
    const schema = {
      type: 'object',
      properties: { name: { type: 'string', maxLength: 10 } },
      required: ['name'],
      additionalProperties: false,
    };
    const held = await client.chat.completions.create({
      model: 'both',
      messages,
      max_tokens: 40,
      response_format: { type: 'json_schema', json_schema: { name: 'person', schema, strict: true } },
    });
    const parameters = {
      type: 'object',
      properties: { city: { type: 'string', maxLength: 12 }, days: { type: 'integer', maximum: 9 } },
      required: ['city', 'days'],
      additionalProperties: false,
    };
    const tools = ['weather', 'tides'].map((name) => ({
      type: 'function' as const,
      function: { name, parameters, strict: true },
    }));
    const called = await client.chat.completions.create({
      model: 'both',
      messages: [{ role: 'user', content: 'What are the tides in Oslo?' }],
      max_tokens: 60,
      tools,
      tool_choice: { type: 'function', function: { name: 'tides' } },
    });
    const [call] = called.choices[0]?.message.tool_calls ?? [];
    return {
      pieces,
      person: held.choices[0]?.message.content,
      call: call?.type === 'function' ? call.function : null,
      by: [held.system_fingerprint, called.system_fingerprint],
    };
  }, key);
  expect(answers.pieces.filter(Boolean).length).toBeGreaterThan(5);
  expect(JSON.parse(answers.person ?? '')).toEqual({ name: expect.any(String) as string });
  expect(answers.call?.name).toBe('tides');
  expect(JSON.parse(answers.call?.arguments ?? '')).toEqual({
    city: expect.any(String) as string,
    days: expect.any(Number) as number,
  });
  expect(answers.by).toEqual(['ray-upstream', 'ray-upstream']);
  // As published for these weights.
  const [a, b] = await embed(page, key, 'vectors', ['That is a happy person', 'That is a happy dog']);
  expect(dot(a, b)).toBeCloseTo(0.6946, 3);
});

test('a full cluster says 429 with its wait, and an abort frees the replicas', async () => {
  // Two replicas with two slots each.
  await startStreams(4);
  const gone = new AbortController();
  const waiting = Array.from({ length: 8 }, () => cluster.ask({ ...endless, max_tokens: 2 }, gone.signal));
  const told = await Promise.race(waiting);
  expect(told.status).toBe(429);
  expect(await ask('cluster')).toMatchObject({ status: 429, retryAfter: '2' });
  await page.evaluate(() => window.streams.forEach(({ stop }) => stop()));
  const statuses = (await Promise.all(waiting)).map(({ status }) => status);
  expect(statuses).toContain(200);
  gone.abort();
  expect(await ask('cluster')).toMatchObject({ status: 200, by: 'ray-alone-upstream' });
});

test('a replica that dies breaks its own streams with an error, and no others', async () => {
  await startStreams(4);
  cluster.killReplica();
  const ends = await page.evaluate(() =>
    Promise.all(
      window.streams.map(async ({ chunks, stop }) => {
        try {
          for (let count = 0; count < 60; count++) if ((await chunks.next()).done) return 'ended';
          stop();
          return 'goes on';
        } catch (error) {
          return (error as { code?: string }).code ?? String(error);
        }
      }),
    ),
  );
  expect(ends.toSorted()).toEqual(['goes on', 'goes on', 'upstream_failed', 'upstream_failed']);
  // The other replica, or the one that takes the place.
  expect(await ask('cluster')).toMatchObject({ status: 200 });
});
