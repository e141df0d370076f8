import type { BrowserContext, Page } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import { small } from '../support/small-variant.ts';
import { launchWithWeights } from '../support/stored-weights.ts';
import { LlamaServer } from '../support/llama-server/llama-server.ts';
import { openPage } from '../support/open-page.ts';
import { send } from '../support/send.ts';
import { serverVariant, catalogOf, modelOf } from '../support/catalogs.ts';
import { ask } from '../support/ask-page.ts';

const SECRET = 'sk-of-the-site-5f1c';

const weights = `public/models/${small.files[0]?.path}`;

let context: BrowserContext;
let llama: LlamaServer;
let page: Page;
let key: string;

beforeAll(async () => {
  llama = await LlamaServer.start(weights, SECRET);
  const server = (name: string) => serverVariant(name, `${llama.url}/v1`, { model: 'smollm2' });
  const catalog = catalogOf(
    modelOf('served', [server('llama'), small]),
    modelOf('refused', [server('wrong-key')]),
  );
  const upstreamKeys = { llama: SECRET, 'wrong-key': 'sk-an-old-one' };
  context = await launchWithWeights();
  ({ page, key } = await openPage(context, inject('siteUrl'), { catalog, upstreamKeys }));
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
      return { whole: { ...reply, text: reply.choices[0]?.message.content }, streamed: { pieces, usage } };
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
  const objectOf = (properties: object) => ({
    type: 'object',
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  });
  const say = (more: object) =>
    ask(page, key, 'served', 'Ann is 7. What is the weather in Oslo?', { max_tokens: 60, ...more });
  const schema = objectOf({ name: { type: 'string', maxLength: 10 }, age: { type: 'integer', maximum: 99 } });
  const json_schema = { name: 'person', schema, strict: true };
  const held = await say({ response_format: { type: 'json_schema', json_schema } });
  const parameters = objectOf({ city: { type: 'string', maxLength: 12 } });
  const tools = [{ type: 'function', function: { name: 'weather', parameters } }];
  const [call] = (await say({ tools, tool_choice: 'required' })).choices[0]?.message.tool_calls ?? [];
  expect(JSON.parse(held.choices[0]?.message.content ?? '')).toEqual({
    name: expect.any(String) as string,
    age: expect.any(Number) as number,
  });
  const called = call?.type === 'function' ? call.function : null;
  expect(called?.name).toBe('weather');
  expect(JSON.parse(called?.arguments ?? '')).toEqual({ city: expect.any(String) as string });
});

test('the site’s key is nowhere that callers can look', async () => {
  const seen = await page.evaluate(async () => {
    const status = JSON.stringify(await (await window.localtext).status());
    const databases = (await indexedDB.databases()).map(({ name }) => name);
    const stored = JSON.stringify({ ...localStorage, ...sessionStorage });
    return { status, stored, databases };
  });
  const models = await send(page, key, '/v1/models');
  const model = await send(page, key, '/v1/models/served');
  const refused = await send(page, key, '/v1/chat/completions', { ...request, model: 'refused' });
  expect(refused.status).toBe(401);
  expect(model.text).toContain('llama');
  expect(JSON.stringify([seen, models, model, refused])).not.toContain(SECRET);
  expect(JSON.stringify([seen, models, model, refused])).not.toContain('sk-an-old-one');
});
