import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type OpenAI from 'openai';
import type { BrowserContext, Page } from 'playwright';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

import { launch } from '../support/launch.ts';
import { LlamaServer } from '../support/llama-server/llama-server.ts';
import { openPage } from '../support/open-page.ts';
import { removeFolder, tempFolder } from '../support/temp-folder.ts';
import { dataUrl, PICTURES, png, pngOf, withOrientation } from '../support/vision/pictures.ts';
import { tinyVision } from '../support/vision/tiny-vision.ts';
import { VISION_MODEL, visionModel } from '../support/vision/vision-site.ts';

/** Images in chat messages, on a model of SmolVLM's architecture with random weights, beside llama.cpp's own server. */

const PARTS = Number(process.env['LOCALTEXT_FUZZ_REQUESTS'] ?? 100);
const [first = Buffer.alloc(0), second = Buffer.alloc(0)] = PICTURES;
let model: Awaited<ReturnType<typeof visionModel>>;
let llama: LlamaServer;
let folder: string;
let context: BrowserContext;
let page: Page;
let key: string;

beforeAll(async () => {
  folder = await tempFolder('vision');
  const files = tinyVision();
  const [weights, projector] = [join(folder, 'model.gguf'), join(folder, 'mmproj.gguf')];
  await Promise.all([writeFile(weights, files.model), writeFile(projector, files.projector)]);
  [model, llama, context] = await Promise.all([
    visionModel(),
    LlamaServer.start(weights, 'secret', [projector]),
    launch(),
  ]);
  const started = { catalog: model.catalog, images: { origins: [`${model.url}/`] } };
  const options = encodeURIComponent(JSON.stringify(started));
  ({ page, key } = await openPage(context, inject('siteUrl'), `/test-page.html?options=${options}`));
});

afterAll(async () => {
  await context.close();
  await llama.stop();
  model.close();
  await removeFolder(folder);
});

interface Answer {
  choices: { message: { content: string }; logprobs: { content: { token: string }[] } | null }[];
  usage: { prompt_tokens: number; prompt_tokens_details: { cached_tokens: number } };
  error: { code: string; param: string; message: string };
  input_tokens: number;
  output: { content: { text: string }[] }[];
  data: { id: string; capabilities: string[] }[];
}

const imageAt = (url: string) => ({ type: 'image_url', image_url: { url } });
const image = (file: Buffer) => imageAt(dataUrl(file));
const text = (content: string) => ({ type: 'text', text: content });
const user = (...content: object[]) => ({ messages: [{ role: 'user', content }] });

/** The status and the body of an answer. */
const ask = (body: object, path = '/v1/chat/completions') =>
  page.evaluate(
    async ([secret, url, json]) => {
      const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
      const response = await fetch(url, { method: 'POST', headers, body: json });
      return { status: response.status, ...((await response.json()) as Answer) };
    },
    [key, path, JSON.stringify({ model: VISION_MODEL, temperature: 0, max_tokens: 8, ...body })] as const,
  );

const reply = async (body: object): Promise<string> => {
  const { choices, error } = await ask(body);
  expect(error).toBeUndefined();
  return choices[0]?.message.content ?? '';
};

test('the tokens are llama.cpp’s own, and so is their number', async () => {
  const replies = new Set<string>();
  for (const picture of PICTURES) {
    const body = user(text('What is it?'), image(picture), text('Say it.'));
    const native = await llama.ask({ ...body, temperature: 0, max_tokens: 8 });
    const { choices, usage } = await ask(body);
    expect(choices[0]?.message.content).toBe(native.text);
    expect(usage.prompt_tokens).toBe(native.promptTokens);
    replies.add(native.text);
  }
  expect(replies.size).toBeGreaterThan(3);
});

test('a second question about a picture finds it computed, and another picture never does', async () => {
  for (const question of ['How many are there?', 'Which colour has it?']) {
    // More conversations than llama.cpp has slots.
    for (const picture of PICTURES) {
      const body = user(image(picture), text(question));
      const native = await llama.ask({ ...body, temperature: 0, max_tokens: 8 });
      const { choices, usage } = await ask(body);
      expect(choices[0]?.message.content).toBe(native.text);
      const { cached_tokens: cached } = usage.prompt_tokens_details;
      // What differs: the question, and what every prompt begins with.
      if (question.startsWith('Which')) expect(usage.prompt_tokens - cached).toBeLessThan(40);
      else expect(cached).toBeLessThan(25);
    }
  }
});

test('replies that run at once are those of one after another', async () => {
  const bodies = PICTURES.map((picture) => user(image(picture), image(first), text('Both?')));
  const together = await Promise.all(bodies.map(reply));
  for (const [index, body] of bodies.entries()) expect(await reply(body)).toBe(together[index]);
});

test('choices, log probabilities, stop sequences, forms, streams and counts are as with text', async () => {
  const body = user(text('What is it?'), image(second));
  const whole = await ask({ ...body, logprobs: true, n: 2 });
  const [one, two] = whole.choices;
  expect(one?.message.content).toBe(two?.message.content);
  expect(one?.logprobs?.content.map(({ token }) => token).join('')).toBe(one?.message.content);
  const stop = one?.message.content.slice(3, 5) ?? '';
  const stopped = await reply({ ...body, stop });
  expect(one?.message.content.startsWith(`${stopped}${stop}`)).toBe(true);
  expect(await reply({ ...body, response_format: { type: 'json_object' } })).toMatch(/^\{/);
  const counted = await ask(body, '/v1/chat/completions/input_tokens');
  expect(counted.input_tokens).toBe(whole.usage.prompt_tokens);
  const unseen = user(image(PICTURES[4] ?? first), image(PICTURES[3] ?? first), text('a'));
  const { input_tokens: expected } = await ask(unseen, '/v1/chat/completions/input_tokens');
  expect((await ask(unseen)).usage.prompt_tokens).toBe(expected);
  const streamed = await page.evaluate(
    async ([secret, name, messages]) => {
      const client = window.client(secret);
      const request = {
        model: name,
        messages: messages as OpenAI.ChatCompletionMessageParam[],
        stream: true as const,
        max_tokens: 500,
        temperature: 0,
      };
      let begun = '';
      for await (const chunk of await client.chat.completions.create(request)) {
        begun += chunk.choices[0]?.delta.content ?? '';
        // Leaving the loop aborts the request.
        if (begun.length >= 8) break;
      }
      return begun;
    },
    [key, VISION_MODEL, body.messages] as const,
  );
  expect(streamed.slice(0, 8)).toBe(one?.message.content);
  expect(await reply(body)).toBe(one?.message.content);
  const input = [
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'What is it?' },
        { type: 'input_image', image_url: dataUrl(second) },
      ],
    },
  ];
  const response = await ask({ input, max_output_tokens: 8 }, '/v1/responses');
  expect(response.output[0]?.content[0]?.text).toBe(one?.message.content);
});

test('pictures come from the site and from origins that it names, and in every type', async () => {
  const drawn = await page.evaluate(async () => {
    const canvas = new OffscreenCanvas(100, 40);
    const pen = canvas.getContext('2d');
    if (!pen) throw new Error('no canvas');
    pen.fillStyle = '#c33';
    pen.fillRect(0, 0, 60, 40);
    const urls: Record<string, string> = {};
    for (const type of ['image/jpeg', 'image/webp']) {
      const blob = await canvas.convertToBlob({ type, quality: 1 });
      const bytes = new Uint8Array(await blob.arrayBuffer());
      urls[type] = btoa(String.fromCharCode(...bytes));
    }
    return urls;
  });
  const jpeg = Buffer.from(drawn['image/jpeg'] ?? '', 'base64');
  const webp = Buffer.from(drawn['image/webp'] ?? '', 'base64');
  const gif = Buffer.from('R0lGODlhAQABAIABAP8AAP///yH5BAEAAAEALAAAAAABAAEAAAICRAEAOw==', 'base64');
  const avif = Buffer.from(AVIF, 'base64');
  const tokens = async (url: string) =>
    (await ask({ ...user(imageAt(url)), max_tokens: 1 })).usage?.prompt_tokens;
  const wide = await tokens(dataUrl(png(100, 40, () => [9, 9, 9])));
  const high = await tokens(dataUrl(png(40, 100, () => [9, 9, 9])));
  expect(wide).not.toBe(high);
  expect(await tokens(dataUrl(jpeg, 'image/jpeg'))).toBe(wide);
  expect(await tokens(dataUrl(webp, 'image/webp'))).toBe(wide);
  // Turned by a quarter.
  expect(await tokens(dataUrl(withOrientation(jpeg, 6), 'image/jpeg'))).toBe(high);
  const square = await tokens(dataUrl(first));
  expect(await tokens(dataUrl(gif, 'image/gif'))).toBe(square);
  expect(await tokens(dataUrl(avif, 'image/avif'))).toBe(square);
  expect(await tokens('/icons/icon-192.png')).toBe(square);
  expect(await reply(user(imageAt(`${model.url}/pictures/a.png`), text('a')))).toBe(
    await reply(user(image(first), text('a'))),
  );
});

test('what is no image, or too much of it, is refused by name', async () => {
  const refusal = async (url: string) => {
    const { status, error } = await ask(user(text('a'), imageAt(url)));
    expect(status).toBe(400);
    expect(error.param).toBe('messages[0].content[1]');
    return `${error.code}: ${error.message}`;
  };
  expect(await refusal('https://example.com/a.png')).toMatch(
    /unsupported_value: .*https:\/\/example\.com.*origins/,
  );
  expect(await refusal('/icons/icon.svg')).toMatch(/invalid_value: .*no PNG/);
  expect(await refusal('/nothing.png')).toMatch(/answered 404/);
  expect(await refusal(dataUrl(first.subarray(0, -20)))).toMatch(/PNG that breaks off/);
  expect(await refusal(dataUrl(pngOf(20_000, 20_000, Buffer.alloc(9))))).toMatch(/20000 × 20000 pixels/);
  // Its size is allowed, and its content is none.
  expect(await refusal(dataUrl(pngOf(40, 40, Buffer.alloc(9))))).toMatch(/cannot decode/);
  const blind = await ask({ ...user(text('a'), image(first)), model: 'amber-phoenix-4' });
  expect(blind.error).toMatchObject({ code: 'unsupported_value', param: 'messages[0].content[1]' });
  expect(blind.error.message).toContain(`${VISION_MODEL}.`);
  const long = await ask(user(text('a'.repeat(400)), ...Array.from({ length: 16 }, () => image(first))));
  expect(long.error.code).toBe('context_length_exceeded');
  expect(long.error.message).toMatch(/Its 16 images take 17\d\d of them/);
  const many = await ask(user(...Array.from({ length: 17 }, () => image(first))));
  expect(many.error.param).toBe('messages[0].content[16]');
});

test('the list of models says which see', async () => {
  const data = await page.evaluate(async (secret) => {
    const response = await fetch('/v1/models', { headers: { authorization: `Bearer ${secret}` } });
    return ((await response.json()) as Answer).data;
  }, key);
  const seeing = data.filter(({ capabilities }) => capabilities.includes('vision')).map(({ id }) => id);
  expect(seeing).toEqual([VISION_MODEL]);
});

test('a model that the user adds with its projector sees', async () => {
  await page.evaluate(async (url) => {
    const file = async (name: string) =>
      new File([await (await fetch(`${url}/vision/${name}`)).blob()], name);
    const files = [await file('mmproj.gguf'), await file('model.gguf')];
    await (await window.localtext).models.add(files, { id: 'added-eyes' });
  }, model.url);
  const body = user(text('What is it?'), image(second));
  expect(await reply({ ...body, model: 'added-eyes' })).toBe(await reply(body));
});

test(`${PARTS} hostile parts of messages break nothing`, { timeout: 30_000 + PARTS * 200 }, async () => {
  let state = 1;
  const below = (limit: number) =>
    ((state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) >>> 8) % limit;
  const pick = <T = unknown>(...values: T[]): T => values[below(values.length)] as T;
  const damaged = () => {
    const file = Buffer.from(pick(...PICTURES));
    for (let count = below(4); count >= 0; count--) file[below(file.length)] = below(256);
    return file.subarray(0, pick(file.length, below(file.length)));
  };
  const url = () =>
    pick<() => unknown>(
      () => dataUrl(damaged(), pick('image/png', 'image/gif', 'image/svg+xml', 'text/html', '')),
      () => dataUrl(pngOf(below(2 ** 16), pick(0, 1, 600, 2 ** 31), Buffer.alloc(below(99)))),
      () =>
        pick(
          '',
          'data:',
          'data:image/png;base64',
          'data:image/png;base64,====',
          '//',
          'http://[',
          '/v1/models',
        ),
      () =>
        pick(
          'blob:null/x',
          'javascript:1',
          'https://example.com/a.png',
          '/icons/icon.svg',
          '/%00',
          '\\ud800',
        ),
      () => pick<unknown>(null, 7, [], {}, true, '<__media__>'),
    )();
  const part = () =>
    pick<() => unknown>(
      () => ({
        type: 'image_url',
        image_url: { url: url(), detail: pick<unknown>('low', 'x', undefined, 7) },
      }),
      () => ({ type: 'image_url', image_url: url() }),
      () => ({
        type: pick<unknown>('image_url', 'input_image', 'text', 'file', 7),
        text: pick<unknown>('a', null),
        url: url(),
      }),
      () => image(pick(...PICTURES)),
    )();
  for (let sent = 0; sent < PARTS; sent++) {
    const content = Array.from({ length: 1 + below(3) }, part);
    const body = {
      messages: [{ role: pick('user', 'user', 'user', 'system', 'tool'), content }],
      max_tokens: 1,
    };
    const { status, error } = await ask(body);
    expect(status, JSON.stringify({ error, body }).slice(0, 2000)).toBeLessThan(500);
  }
  expect(await reply(user(text('a'), image(first)))).toMatch(/^[a-z]{8}$/);
});

/** One red pixel. */
const AVIF =
  'AAAAIGZ0eXBhdmlmAAAAAGF2aWZtaWYxbWlhZk1BMUIAAADybWV0YQAAAAAAAAAoaGRscgAAAAAAAAAAcGljdAAAAAAAAAAAAAAAAGxpYmF2aWYAAAAADnBpdG0AAAAAAAEAAAAeaWxvYwAAAABEAAABAAEAAAABAAABGgAAAB0AAAAoaWluZgAAAAAAAQAAABppbmZlAgAAAAABAABhdjAxQ29sb3IAAAAAamlwcnAAAABLaXBjbwAAABRpc3BlAAAAAAAAAAEAAAABAAAAEHBpeGkAAAAAAwgICAAAAAxhdjFDgQ0MAAAAABNjb2xybmNseAACAAIAAYAAAAAXaXBtYQAAAAAAAAABAAEEAQKDBAAAACVtZGF0EgAKCBgANogQEAwgMg8f8D///8WfhwB8+ErK42A=';
