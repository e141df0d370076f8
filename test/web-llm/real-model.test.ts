import { spawnSync } from 'node:child_process';
import type { BrowserContext, Page } from 'playwright';
import { beforeAll, expect, test } from 'vitest';
import type { ChatEvent, ChatJob, ChatMessage } from '../../src/jobs/chat.ts';
import { crashGpu } from '../support/crash-gpu.ts';
import { findBrowser } from '../support/find-browser.ts';
import { launch } from '../support/launch.ts';
import { MLC_FOLDER, MLC_HOW, mlcUrls, mlcVariant } from '../support/mlc-model.ts';
import { findRoot, treeBytes } from '../support/process-memory.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { startWebLlmSite } from '../support/web-llm-site.ts';
import type { Abort } from '../support/web-llm/web-llm-worker.ts';
import { chatJob } from '../support/chat-job.ts';

const urls = mlcUrls();
if (urls === null) throw new Error(MLC_HOW);
const { model: modelUrl, library: libraryUrl } = urls;

let site: Awaited<ReturnType<typeof startWebLlmSite>>;
let context: BrowserContext;
let profile: string;
let page: Page;
let gpu: string | null;

const variant = mlcVariant({
  files: [],
  library: libraryUrl,
  hub: { repository: 'o/m', revision: 'main', folder: MLC_FOLDER, approximateBytes: 1 },
});

beforeAll(async () => {
  process.env['LOCALTEXT_CHROMIUM'] = findBrowser();
  site = await startWebLlmSite();
  profile = await tempFolder('web-llm-profile');
  gpu = await open('hardware');
  if (gpu === null) {
    await context.close();
    gpu = await open('software');
  }
  console.log(`on ${gpu ?? 'a GPU in software'}`);
  await page.waitForFunction(() => 'webLlm' in window);
  await load(variant.name);
});

/** Opens the page in a browser with such a GPU. Resolves to its name, or to null where WebGPU is not on a GPU. */
async function open(webgpu: 'hardware' | 'software'): Promise<string | null> {
  // Else a page gets no GPU after two losses.
  const extraArgs = ['--disable-gpu-process-crash-limit', '--disable-domain-blocking-for-3d-apis'];
  context = await launch({ webgpu, profile, extraArgs });
  page = await context.newPage();
  page.on('console', (message) => message.type() === 'error' && console.error(message.text()));
  await page.goto(`${site.url}page.html`);
  return page.evaluate(async () => {
    // A new browser may offer its GPU to the second request alone.
    await navigator.gpu?.requestAdapter();
    await new Promise((resolve) => setTimeout(resolve, 500));
    const info = (await navigator.gpu?.requestAdapter())?.info;
    return info === undefined || info.isFallbackAdapter ? null : `${info.vendor} ${info.architecture}`;
  });
}

/** Bytes that the models take: on a GPU its own memory, else the browser's. */
async function usedBytes(): Promise<number> {
  if (gpu === null) return treeBytes(await findRoot(`--user-data-dir=${profile}`));
  const asked = ['--query-gpu=memory.used', '--format=csv,noheader,nounits'];
  const { stdout } = spawnSync('nvidia-smi', asked, { encoding: 'utf8' });
  return Number(stdout) * 2 ** 20;
}

/** Loads the model under this name. */
async function load(name: string): Promise<string[]> {
  const library = new URL(libraryUrl).pathname.split('/').pop() ?? '';
  const files = { [`${MLC_FOLDER}/`]: { url: modelUrl }, [`${MLC_FOLDER}/${library}`]: { url: libraryUrl } };
  const began = performance.now();
  const { fingerprint, code, message, phases } = await page.evaluate(
    ([wanted, sources]) => window.webLlm.load(wanted, sources),
    [{ ...variant, name }, files] as const,
  );
  if (fingerprint === null) throw new Error(`${code}: ${message}`);
  console.log(`loaded ${fingerprint} in ${Math.round(performance.now() - began)} ms`);
  return phases;
}

const job = (content: string | ChatMessage[], more: Partial<ChatJob> = {}): ChatJob => {
  const messages: ChatMessage[] = typeof content === 'string' ? [{ role: 'user', content }] : content;
  return chatJob({ input: { messages }, maxTokens: 24, ...more });
};

async function chat(asked: ChatJob, abort: Abort = {}, name = variant.name) {
  const { events, failure, milliseconds } = await page.evaluate(
    ([model, given, after]) => window.webLlm.chat(model, given, after),
    [name, asked, abort] as const,
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

test('a JSON schema is kept to', async () => {
  const schema = {
    type: 'object',
    properties: { colour: { type: 'string', maxLength: 12 } },
    required: ['colour'],
    additionalProperties: false,
  };
  const { text, done } = await chat(
    job('Give a colour as JSON.', {
      constraint: { kind: 'json_schema', schema: JSON.stringify(schema) },
      maxTokens: 64,
    }),
  );
  if (done?.finishReason === 'stop') expect(Object.keys(JSON.parse(text) as object)).toEqual(['colour']);
  else expect(text.trimStart()).toMatch(/^\{/);
});

test('an abort ends the reply, and the next one comes', async () => {
  const { failure, deltas } = await chat(job('Tell me a long story.', { maxTokens: 200 }), {
    afterDeltas: 3,
  });
  expect(failure?.message).toMatch(/aborted by the test/);
  expect(deltas.length).toBeLessThan(6);
  expect((await chat(job('Say hello.'))).text.length).toBeGreaterThan(0);
});

test('an abort while a prompt is computed ends between its pieces, and the next reply comes', async () => {
  // More than one piece of the prompt, which the library computes 1,024 tokens at a time.
  const long = job(`Repeat: ${'one two three '.repeat(800)}`, { maxTokens: 1 });
  const { failure, events, milliseconds } = await chat(long, { afterMs: gpu === null ? 200 : 50 });
  console.log(`aborted in ${Math.round(milliseconds)} ms`);
  expect(failure?.message).toMatch(/aborted by the test/);
  expect(events.filter(({ type }) => type !== 'accepted')).toEqual([]);
  expect((await chat(job('Say hello.', { maxTokens: 4 }))).done).toMatchObject({ finishReason: 'length' });
});

test('a conversation goes on after another one, which leaves nothing in it', async () => {
  const next = job([
    { role: 'user', content: 'Say hello.' },
    { role: 'assistant', content: 'Hello!' },
    { role: 'user', content: 'Again.' },
  ]);
  await chat(job('Name a sea.', { maxTokens: 4 }));
  const first = await chat(next);
  await chat(job('Name a river.', { maxTokens: 4 }));
  const again = await chat(next);
  // web-llm keeps the prompt of one conversation.
  expect([first, again].map(({ done }) => done?.usage.cachedTokens)).toEqual([0, 0]);
  expect(again.text).toBe(first.text);
});

test('two models are in memory at once, and each answers; unloaded, the memory is freed', async () => {
  const asked = job('Name three colours.', { maxTokens: 8 });
  const { text } = await chat(asked);
  const before = await usedBytes();
  const phases = await load('second');
  expect(phases).toEqual(['load', 'compile']);
  const both = await Promise.all([chat(asked), chat(asked, {}, 'second')]);
  expect(both.map((reply) => reply.text)).toEqual([text, text]);
  const withBoth = await usedBytes();
  await page.evaluate(() => window.webLlm.unload('second'));
  const freed = async () => (withBoth - (await usedBytes())) / (withBoth - before);
  await expect.poll(freed, { timeout: 60_000, interval: 1000 }).toBeGreaterThan(0.7);
  console.log(
    `${Math.round((withBoth - before) / 1e6)} MB for the second, ${(await freed()).toFixed(2)} freed`,
  );
  expect((await chat(asked)).text).toBe(text);
});

test('a GPU that is lost, ten times, ends the reply by name, and a new load answers', async () => {
  const ended: number[] = [];
  for (let loss = 0; loss < 10; loss++) {
    const reply = chat(job('Tell me a long story.', { maxTokens: 200 }));
    await page.waitForFunction(async () => (await window.webLlm.deltas()) >= 3);
    const began = performance.now();
    await crashGpu(context);
    const { failure } = await reply;
    ended.push(Math.round(performance.now() - began));
    expect(failure?.code).toBe('device_lost');
    expect((await chat(job('hi'))).failure?.code).toBe('device_lost');
    await page.evaluate((name) => window.webLlm.unload(name), variant.name);
    await load(variant.name);
    expect((await chat(job('Say hello.', { maxTokens: 4 }))).text.length).toBeGreaterThan(0);
  }
  console.log(`the replies ended ${ended.join(', ')} ms after the loss`);
  expect(Math.max(...ended)).toBeLessThan(10_000);
});
