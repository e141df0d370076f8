import type { BrowserContext, Page } from 'playwright';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ChatEvent, ChatJob, ChatMessage } from '../../src/protocol/job.ts';
import { findBrowser } from '../support/find-browser.ts';
import { launch } from '../support/launch.ts';
import { MLC_FOLDER, mlcVariant } from '../support/mlc-model.ts';
import { startWebLlmSite } from '../support/web-llm-site.ts';

const modelUrl = process.env['MLC_MODEL'] ?? '';
const libraryUrl = process.env['MLC_LIBRARY'] ?? '';

let site: Awaited<ReturnType<typeof startWebLlmSite>>;
let context: BrowserContext;
let page: Page;

const variant = mlcVariant({
  files: [],
  library: libraryUrl,
  hub: { repository: 'o/m', revision: 'main', folder: MLC_FOLDER, approximateBytes: 1 },
});

beforeAll(async () => {
  process.env['LOCALTEXT_CHROMIUM'] = findBrowser();
  site = await startWebLlmSite();
  context = await launch({ webgpu: 'software' });
  page = await context.newPage();
  page.on('console', (message) => message.type() === 'error' && console.error(message.text()));
  await page.goto(`${site.url}page.html`);
  await page.waitForFunction(() => 'webLlm' in window);
  const library = new URL(libraryUrl).pathname.split('/').pop() ?? '';
  const files = { [`${MLC_FOLDER}/`]: { url: modelUrl }, [`${MLC_FOLDER}/${library}`]: { url: libraryUrl } };
  const began = performance.now();
  const loaded = await page.evaluate(([wanted, sources]) => window.webLlm.load(wanted, sources), [
    variant,
    files,
  ] as const);
  if (loaded.fingerprint === null) throw new Error(`${loaded.code}: ${loaded.message}`);
  console.log(`loaded ${loaded.fingerprint} in ${Math.round(performance.now() - began)} ms`);
});

afterAll(async () => {
  await context?.close();
  await site?.stop();
});

const job = (content: string | ChatMessage[], more: Partial<ChatJob> = {}): ChatJob => ({
  kind: 'chat',
  model: 'm',
  input: { messages: typeof content === 'string' ? [{ role: 'user', content }] : content },
  sampling: { temperature: 0, topP: 1 },
  maxTokens: 24,
  ...more,
});

async function chat(chatJob: ChatJob, abortAfter?: number) {
  const { events, failure, milliseconds } = await page.evaluate(
    ([asked, after]) => window.webLlm.chat(asked, after),
    [chatJob, abortAfter] as const,
  );
  const deltas = events.flatMap((event: ChatEvent) => (event.type === 'delta' ? [event.delta] : []));
  const done = events.find((event: ChatEvent) => event.type === 'done');
  return { events, failure, milliseconds, deltas, done, text: deltas.map(({ text }) => text).join('') };
}

test('a chat: accepted first, text in pieces, every token counted', async () => {
  const { events, text, deltas, done, milliseconds } = await chat(job('Name three colours.'));
  console.log(`${JSON.stringify(text)} in ${Math.round(milliseconds)} ms`);
  expect(events[0]).toMatchObject({ type: 'accepted' });
  expect(text.length).toBeGreaterThan(0);
  expect(done?.usage.promptTokens).toBeGreaterThan(3);
  const counted = deltas.reduce((sum, { tokens }) => sum + tokens, 0);
  expect([counted, counted + 1]).toContain(done?.usage.completionTokens);
});

test('max_tokens is exact, and a length', async () => {
  const { done } = await chat(job('Count from one to fifty.', { maxTokens: 5 }));
  expect(done).toMatchObject({ finishReason: 'length', usage: { completionTokens: 5 } });
});

test('the same seed gives the same text', async () => {
  const seeded = job('Tell me a story.', { sampling: { temperature: 1, topP: 1, seed: 7 } });
  const first = await chat(seeded);
  expect((await chat(seeded)).text).toBe(first.text);
});

test('a reply is continued from where it was cut', async () => {
  const whole = await chat(job('Name three colours.'));
  const begun = whole.deltas
    .slice(0, 6)
    .map(({ text }) => text)
    .join('');
  const rest = await chat(job('Name three colours.', { resume: { text: begun, tokens: 6 }, maxTokens: 18 }));
  expect(begun + rest.text).toBe(whole.text);
});

test('a JSON schema is kept to', async () => {
  const schema = {
    type: 'object',
    properties: { colour: { type: 'string', maxLength: 12 } },
    required: ['colour'],
    additionalProperties: false,
  };
  const { text, done } = await chat(
    job('Give a colour as JSON.', { constraint: { kind: 'json_schema', schema }, maxTokens: 64 }),
  );
  if (done?.finishReason === 'stop') expect(Object.keys(JSON.parse(text) as object)).toEqual(['colour']);
  else expect(text.trimStart()).toMatch(/^\{/);
});

test('an abort ends the reply, and the next one comes', async () => {
  const { failure, deltas } = await chat(job('Tell me a long story.', { maxTokens: 200 }), 3);
  expect(failure?.message).toMatch(/aborted by the test/);
  expect(deltas.length).toBeLessThan(6);
  expect((await chat(job('Say hello.'))).text.length).toBeGreaterThan(0);
});

test('the second turn finds the first in the cache', async () => {
  // web-llm drops its cache after a reply that ended by length.
  const first = await chat(job('Say hello.', { maxTokens: 200 }));
  expect(first.done?.finishReason).toBe('stop');
  const second = await chat(
    job([
      { role: 'user', content: 'Say hello.' },
      { role: 'assistant', content: first.text },
      { role: 'user', content: 'Again.' },
    ]),
  );
  expect(second.done?.usage.cachedTokens).toBeGreaterThan(0);
  expect(second.done?.usage.promptTokens).toBeGreaterThan(second.done?.usage.cachedTokens ?? 0);
});

test('log probabilities come with the tokens', async () => {
  const { deltas } = await chat(job('Say hello.', { topLogprobs: 2, maxTokens: 4 }));
  const entries = deltas.flatMap(({ logprobs = [] }) => logprobs);
  expect(entries.length).toBeGreaterThan(0);
  expect(entries[0]?.top).toHaveLength(2);
});

test('a prompt over the context is refused with both numbers', async () => {
  const { failure } = await chat(job('word '.repeat(9000)));
  expect(failure).toMatchObject({
    code: 'context_length_exceeded',
    message: expect.stringMatching(/\d+ tokens.*\d+/) as string,
  });
});

test('unloaded, it is gone', async () => {
  await page.evaluate(() => window.webLlm.unload());
  expect((await chat(job('hi'))).failure).not.toBeNull();
});
