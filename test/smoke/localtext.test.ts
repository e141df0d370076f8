import type { BrowserContext, Page } from 'playwright';
import { beforeAll, expect, test } from 'vitest';

import { launch } from '../support/launch.ts';
import { openPage } from '../support/open-page.ts';
import { StaticSite } from '../support/static-site.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { dot, embed } from '../support/ask-page.ts';

/** One visitor's way through all of it: a first visit, both models, each endpoint by the OpenAI client, and no network. */

let site: StaticSite;
let profile: string;
let context: BrowserContext;
let page: Page;
let key: string;
const foreign: string[] = [];

beforeAll(async () => {
  [site, profile] = await Promise.all([StaticSite.start(), tempFolder('visitor')]);
  await visit();
  ({ page, key } = await openPage(context, site.url));
  await page.evaluate(async () => {
    const localtext = await window.localtext;
    for (const model of ['amber-phoenix-4', 'jade-mole-4']) await localtext.ready(model);
  });
});

async function visit(): Promise<void> {
  context = await launch({ profile });
  context.on('request', (request) => {
    if (!request.url().startsWith(site.url) && !/^(blob|data):/.test(request.url()))
      foreign.push(request.url());
  });
}

interface Reply {
  text: string;
  finishReason: string | null | undefined;
  tokens: number | undefined;
  deltas: number;
}

/** A stream, at temperature 0. The title of the page is the number of deltas that have come. */
const stream = (at: Page, content: string, tokens: number): Promise<Reply> =>
  at.evaluate(
    async ([apiKey, question, most]) => {
      const events = await window.client(apiKey).chat.completions.create({
        model: 'amber-phoenix-4',
        messages: [{ role: 'user', content: question }],
        temperature: 0,
        max_tokens: most,
        stream: true,
        stream_options: { include_usage: true },
      });
      const reply: Reply = { text: '', finishReason: null, tokens: undefined, deltas: 0 };
      for await (const { choices, usage } of events) {
        for (const { delta, finish_reason: reason } of choices) {
          reply.text += delta.content ?? '';
          if (delta.content) document.title = String(++reply.deltas);
          reply.finishReason = reason ?? reply.finishReason;
        }
        reply.tokens = usage?.completion_tokens ?? reply.tokens;
      }
      return reply;
    },
    [key, content, tokens] as const,
  );

const chat = (at: Page): Promise<Reply> =>
  at.evaluate(async (apiKey) => {
    const { choices, usage } = await window.client(apiKey).chat.completions.create({
      model: 'amber-phoenix-4',
      messages: [
        { role: 'system', content: 'You are a helpful assistant.' },
        { role: 'user', content: 'Name the capital of France.' },
      ],
      temperature: 0,
      max_tokens: 24,
    });
    const [choice] = choices;
    const tokens = usage?.completion_tokens;
    return { text: choice?.message.content ?? '', finishReason: choice?.finish_reason, tokens, deltas: 0 };
  }, key);

/** Similarities of three sentences. */
async function similarities(): Promise<number[]> {
  const texts = ['The weather is lovely today.', "It's so sunny outside!", 'He drove to the stadium.'];
  const [a, b, c] = await embed(page, key, 'jade-mole-4', texts);
  return [dot(a, b), dot(a, c), dot(b, c)];
}

/** Similarities that Sentence Transformers publishes for this model in float32, on its quickstart page. */
const PUBLISHED = [0.666, 0.1046, 0.1411].map((value) => expect.closeTo(value, 2) as number);

test('the page is isolated, and lists the models', async () => {
  expect(await page.evaluate(() => crossOriginIsolated)).toBe(true);
  const ids = await page.evaluate(async (apiKey) => {
    const { data } = await window.client(apiKey).models.list();
    return data.map(({ id }) => id);
  }, key);
  expect(ids).toEqual(['crimson-falcon-4', 'indigo-owl-4', 'amber-phoenix-4', 'jade-mole-4']);
});

test('a model says what it is on this device', async () => {
  const models = await page.evaluate(async (apiKey) => {
    const { data } = await window.client(apiKey).models.list();
    return data.filter(({ id }) => ['amber-phoenix-4', 'jade-mole-4'].includes(id));
  }, key);
  expect(models).toMatchObject([
    {
      context_length: 8192,
      max_output_tokens: 8192,
      capabilities: ['chat', 'decisions', 'tools', 'json_schema', 'logprobs'],
      size_bytes: 98362432,
      loaded: true,
    },
    {
      context_length: 512,
      capabilities: ['embeddings', 'rerank', 'decisions'],
      size_bytes: 24077728,
      loaded: true,
    },
  ]);
});

test('chat', async () => {
  const { text, tokens } = await chat(page);
  expect(text).toMatch(/Paris/);
  expect(tokens).toBeGreaterThan(3);
});

test('a stream: exactly max_tokens tokens, in as many pieces', async () => {
  const reply = await stream(page, 'Write two sentences about the sea.', 12);
  expect(reply).toMatchObject({ finishReason: 'length', tokens: 12 });
  expect(reply.deltas).toBeGreaterThan(6);
});

test('embeddings have the similarities that the model’s authors publish', async () => {
  expect(await similarities()).toEqual(PUBLISHED);
});

test('a prompt is counted as its reply counts it, without a reply', async () => {
  const { counts, usages, over, reused } = await page.evaluate(async (apiKey) => {
    const client = window.client(apiKey);
    const base = { model: 'amber-phoenix-4', temperature: 0 };
    const parameters = { type: 'object', properties: { room: { type: 'string' } }, required: ['room'] };
    const messages = [
      { role: 'system' as const, content: 'Be brief.' },
      { role: 'user' as const, content: `Who wrote Hamlet? ${'Think of the sea. '.repeat(12)}` },
    ];
    const schema = { name: 'answer', schema: parameters };
    const tools = [{ type: 'function' as const, function: { name: 'light', parameters } }];
    const chats = [
      { messages },
      { messages, tools, tool_choice: 'required' as const },
      { messages, response_format: { type: 'json_schema' as const, json_schema: schema } },
    ];
    const count = async (counted: object): Promise<number> =>
      (await client.post<{ input_tokens: number }>('/chat/completions/input_tokens', { body: counted }))
        .input_tokens;
    const seen: number[] = [];
    const used: (number | undefined)[] = [];
    for (const body of chats) {
      seen.push(await count({ ...base, ...body }));
      const { usage } = await client.chat.completions.create({ ...base, ...body, max_tokens: 1 });
      used.push(usage?.prompt_tokens);
    }
    const request = { model: base.model, instructions: 'Be brief.', input: 'Who wrote Hamlet?' };
    const { object, input_tokens: inputTokens } = await client.responses.inputTokens.count(request);
    if (object === 'response.input_tokens') seen.push(inputTokens);
    const response = await client.responses.create({ ...request, max_output_tokens: 1 });
    used.push(response.usage?.input_tokens);
    const again = await client.chat.completions.create({ ...base, messages, max_tokens: 1 });
    const long = [{ role: 'user', content: 'sea '.repeat(9000) }];
    return {
      counts: seen,
      usages: used,
      over: await count({ ...base, messages: long }),
      reused: again.usage?.prompt_tokens_details?.cached_tokens ?? 0,
    };
  }, key);
  expect(counts).toEqual(usages);
  expect(new Set(counts).size).toBeGreaterThan(2);
  expect(over).toBeGreaterThan(9000);
  // What has been computed of a prompt stays.
  expect(reused).toBeGreaterThan(60);
});

test('the tab with the engine is closed in mid-stream: another takes over, and the reply is whole', async () => {
  const question = 'Count from one to ten in words.';
  const { page: asker } = await openPage(context, site.url);
  const undisturbed = await stream(asker, question, 24);
  await asker.evaluate(() => void (document.title = '0'));
  const reply = stream(asker, question, 24);
  await asker.waitForFunction(() => Number(document.title) >= 3, undefined, { polling: 10 });
  await page.close();
  expect(await reply).toMatchObject({ text: undisturbed.text, finishReason: 'length', tokens: 24 });
  page = asker;
});

test("the playground's chat answers, and shows its figures", async () => {
  const playground = await context.newPage();
  const faults: string[] = [];
  playground.on('pageerror', (error) => faults.push(error.message));
  await playground.addInitScript(
    (settings) => {
      localStorage.setItem('localtext-playground:chat-settings', settings);
    },
    JSON.stringify({ maxTokens: 16, temperature: 0 }),
  );
  await playground.goto(site.url);
  const composer = playground.getByRole('textbox', { name: 'Message' });
  await composer.fill('Name a river in Europe.');
  await composer.press('Enter');
  const reply = playground.locator('.turn-assistant[aria-busy="false"]');
  await reply.waitFor({ timeout: 60_000 });
  expect(((await reply.locator('.markdown').textContent()) ?? '').trim().length).toBeGreaterThan(10);
  expect(await playground.locator('.turn-stats').textContent()).toMatch(/[\d.]+ tokens\/s/);
  expect(faults).toEqual([]);
});

test('a cold start of the browser, with the server gone: both models answer, and the playground opens', async () => {
  const before = await chat(page);
  await context.close();
  await site.stop();
  await visit();
  const failed: string[] = [];
  context.on('requestfailed', (request) => {
    // A page that is left ends its own requests.
    if (request.failure()?.errorText !== 'net::ERR_ABORTED') failed.push(request.url());
  });
  page = await context.newPage();
  await page.goto(`${site.url}/test-page.html`);
  expect(await chat(page)).toEqual(before);
  expect(await similarities()).toEqual(PUBLISHED);
  expect(await page.evaluate(() => crossOriginIsolated)).toBe(true);
  await page.goto(`${site.url}/`);
  await page.locator('main').waitFor({ timeout: 20_000 });
  // It can be installed: the manifest and its icons are kept, too.
  const devtools = await context.newCDPSession(page);
  const manifest = await devtools.send('Page.getAppManifest');
  expect(manifest).toMatchObject({ url: `${site.url}/manifest.webmanifest`, errors: [] });
  expect(JSON.parse(manifest.data ?? '')).toMatchObject({ display: 'standalone', start_url: './' });
  expect(await devtools.send('Page.getInstallabilityErrors')).toEqual({ installabilityErrors: [] });
  // The service worker compares the pages with the host's, and uses its own where it is gone.
  const asked = failed.filter(
    (url) => !/\/models\/manifest\.json$|\/favicon|\/(test-page\.html)?$/.test(url),
  );
  expect(asked).toEqual([]);
  expect(foreign).toEqual([]);
});
