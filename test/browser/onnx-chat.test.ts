import type { BrowserContext, Page } from 'playwright';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

import type { Catalog } from '../../src/catalog/catalog.ts';
import { launch } from '../support/launch.ts';
import { openPage } from '../support/open-page.ts';
import { serveModels, type ModelServer } from '../support/tiny-onnx/serve-models.ts';
import { STOP, tinyModel, tinyVariant } from '../support/tiny-onnx/tiny-model.ts';

let context: BrowserContext;
let server: ModelServer;
let page: Page;
let key: string;

beforeAll(async () => {
  const files = tinyModel();
  server = await serveModels({ 'tiny-wasm': files, 'tiny-webgpu': files });
  const catalog: Catalog = {
    ownedBy: 'test',
    models: (['wasm', 'webgpu'] as const).map((device) => ({
      id: device,
      kind: 'chat' as const,
      created: 1,
      variants: [tinyVariant(files, server.url, { name: `tiny-${device}`, device })],
    })),
  };
  context = await launch({ webgpu: 'software' });
  const options = encodeURIComponent(JSON.stringify({ catalog }));
  ({ page, key } = await openPage(context, inject('siteUrl'), `/test-page.html?options=${options}`));
});

afterAll(async () => {
  await context.close();
  server.close();
});

interface Asked {
  model?: string;
  content?: string;
  [field: string]: unknown;
}

const ask = (asked: Asked = {}) =>
  page.evaluate(
    async ({ apiKey, body: { model = 'wasm', content = 'hello there', ...more } }) => {
      const stream = await window.client(apiKey).chat.completions.create({
        model,
        messages: [{ role: 'user', content }],
        temperature: 0,
        max_completion_tokens: 48,
        ...more,
        stream: true,
        stream_options: { include_usage: true },
      });
      const pieces: string[] = [];
      const logprobs: number[] = [];
      let finish: string | null = null;
      let usage: unknown;
      let fingerprint: string | undefined;
      for await (const chunk of stream) {
        const [choice] = chunk.choices;
        if (choice?.delta.content) pieces.push(choice.delta.content);
        for (const { logprob } of choice?.logprobs?.content ?? []) logprobs.push(logprob);
        finish = choice?.finish_reason ?? finish;
        usage = chunk.usage ?? usage;
        fingerprint = chunk.system_fingerprint ?? fingerprint;
      }
      return { pieces, text: pieces.join(''), logprobs, finish, usage, fingerprint };
    },
    { apiKey: key, body: asked },
  );

test('a chat on WASM: token by token, the same each time, and counted', async () => {
  const first = await ask();
  expect(first.fingerprint).toMatch(/^tiny-wasm-transformers-wasm-\d+t$/);
  expect(first.text).toMatch(/^[a-z ]{48}$/);
  expect(first.pieces.length).toBeGreaterThan(40);
  expect(new Set(first.text).size).toBeGreaterThan(6);
  expect(first.finish).toBe('length');
  // <|start|> user ⏎ hello there <|end|> <|start|> assistant ⏎
  expect(first.usage).toMatchObject({ prompt_tokens: 29, completion_tokens: 48, total_tokens: 77 });
  expect((await ask()).text).toBe(first.text);
  expect((await ask({ content: 'hello where' })).text).not.toBe(first.text);
});

test('WebGPU says the same, token by token', async () => {
  for (const content of ['hello there', 'a'.repeat(90)]) {
    const wasm = await ask({ content, logprobs: true });
    const gpu = await ask({ content, logprobs: true, model: 'webgpu' });
    expect(gpu.fingerprint).toBe('tiny-webgpu-transformers-webgpu');
    expect(gpu.pieces).toEqual(wasm.pieces);
    expect(gpu.logprobs).toHaveLength(48);
    for (const [at, logprob] of gpu.logprobs.entries())
      expect(logprob).toBeCloseTo(wasm.logprobs[at] ?? 1, 2);
  }
});

test('a GPU that is lost in the middle of a reply: the model is reloaded, and the reply goes on as it would have', async () => {
  const undisturbed = await ask({ model: 'webgpu', max_completion_tokens: 100 });
  const reply = ask({ model: 'webgpu', max_completion_tokens: 100 });
  const seen = page.evaluate(async () => {
    const localtext = await window.localtext;
    const states: string[] = [];
    while (states.at(-1) !== 'loading' && states.length < 1000) {
      const { models } = await localtext.status();
      states.push(models.find(({ id }) => id === 'webgpu')?.state ?? 'none');
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return states.at(-1);
  });
  await (await context.newCDPSession(page)).send('Browser.crashGpuProcess');
  expect(await seen).toBe('loading');
  expect(await reply).toMatchObject({ text: undisturbed.text, finish: 'length', usage: undisturbed.usage });
});

test('OpenAI’s parameters: stop, seed, a bias, n, a raw prompt', async () => {
  const whole = (await ask()).text;
  const stop = whole.slice(20, 23);
  expect((await ask({ stop })).text).toBe(whole.slice(0, whole.indexOf(stop)));
  const sampled = (seed: number) => ask({ temperature: 1, seed });
  const [one, same, other] = [await sampled(1), await sampled(1), await sampled(2)];
  expect(same.text).toBe(one.text);
  expect(other.text).not.toBe(one.text);
  expect(await ask({ logit_bias: { [STOP]: 100 } })).toMatchObject({
    text: '',
    finish: 'stop',
  });
  const { choices, completion } = await page.evaluate(async (apiKey) => {
    const client = window.client(apiKey);
    const several = await client.chat.completions.create({
      model: 'wasm',
      messages: [{ role: 'user', content: 'hello there' }],
      n: 2,
      seed: 5,
      max_completion_tokens: 12,
    });
    const raw = await client.completions.create({ model: 'wasm', prompt: 'once upon a', max_tokens: 8 });
    return {
      choices: several.choices.map(({ message }) => message.content),
      completion: raw.choices[0]?.text,
    };
  }, key);
  expect(new Set(choices).size).toBe(2);
  expect(completion).toHaveLength(8);
});

test('an abort frees the engine at once; what is not possible is refused, with the field', async () => {
  const { pieces, ms } = await page.evaluate(async (apiKey) => {
    const client = window.client(apiKey);
    const messages = [{ role: 'user' as const, content: 'hello' }];
    const stream = await client.chat.completions.create({ model: 'wasm', messages, stream: true });
    let count = 0;
    for await (const chunk of stream) {
      if (chunk.choices[0]?.delta.content && ++count === 3) break;
    }
    const began = performance.now();
    await client.chat.completions.create({ model: 'wasm', messages, max_completion_tokens: 1 });
    return { pieces: count, ms: performance.now() - began };
  }, key);
  expect(pieces).toBe(3);
  expect(ms).toBeLessThan(3000);
  const schema = { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } };
  await expect(ask({ response_format: schema })).rejects.toThrow(/cannot hold its replies to a JSON schema/);
  await expect(ask({ content: 'x'.repeat(300) })).rejects.toThrow(/256 tokens, and the prompt takes 318/);
});

test('a variant that names no device is timed on both, and the status says how it went', async () => {
  const files = tinyModel();
  const models = await serveModels({ 'tiny-any': files });
  const own: Catalog = {
    ownedBy: 'test',
    models: [
      {
        id: 'any',
        kind: 'chat',
        created: 1,
        variants: [tinyVariant(files, models.url, { name: 'tiny-any' })],
      },
    ],
  };
  const fresh = await launch({ webgpu: 'software' });
  try {
    const options = encodeURIComponent(JSON.stringify({ catalog: own, limits: { probe: 'any-gpu' } }));
    const started = await openPage(fresh, inject('siteUrl'), `/test-page.html?options=${options}`);
    await started.page.evaluate(async () => (await window.localtext).ready('any'));
    const reason = (): Promise<string> =>
      started.page.evaluate(async () => {
        const status = await (await window.localtext).status();
        return status.models[0]?.reasons?.find(({ chosen }) => chosen)?.reason ?? '';
      });
    await expect
      .poll(reason, { timeout: 120_000, interval: 1000 })
      .toMatch(
        /the faster of the two \(measured: \d+ ms on WASM, \d+ ms on the GPU, cosine (1\.0000|0\.99\d\d)\)/,
      );
  } finally {
    await fresh.close();
    models.close();
  }
});
