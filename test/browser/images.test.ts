import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type OpenAI from 'openai';
import type { BrowserContext, Page } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import { launch } from '../support/launch.ts';
import { LlamaServer } from '../support/llama-server/llama-server.ts';
import { openPage } from '../support/open-page.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { dataUrl, drawn, GIF, PICTURES, png, withOrientation } from '../support/vision/pictures.ts';
import { tinyVision } from '../support/vision/tiny-vision.ts';
import { VISION_MODEL, visionModel } from '../support/vision/vision-site.ts';
import { send } from '../support/send.ts';

/** Images in chat messages, on a model of SmolVLM's architecture with random weights, beside llama.cpp's own server. */

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
  ({ page, key } = await openPage(context, inject('siteUrl'), started));
});

interface Answer {
  choices: {
    message: { content: string; tool_calls?: OpenAI.ChatCompletionMessageFunctionToolCall[] };
    logprobs: { content: { token: string }[] } | null;
  }[];
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
async function ask(more: object, path = '/v1/chat/completions') {
  const json = { model: VISION_MODEL, temperature: 0, max_tokens: 8, ...more };
  const { status, body } = await send<Answer>(page, key, path, json);
  return { status, ...body };
}

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

test('concurrent replies equal those in turn', async () => {
  const bodies = PICTURES.map((picture) => user(image(picture), image(first), text('Both?')));
  const together = await Promise.all(bodies.map(reply));
  for (const [index, body] of bodies.entries()) expect(await reply(body)).toBe(together[index]);
});

test('choices, log probabilities, stop sequences, schemas, streams and counts work as with text', async () => {
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
  const response = await ask({ input, max_output_tokens: 8, max_tokens: undefined }, '/v1/responses');
  expect(response.output[0]?.content[0]?.text).toBe(one?.message.content);
});

test('pictures come from the site and from origins that it names, and in every type', async () => {
  const [jpeg = GIF, webp = GIF] = await drawn(page, ['image/jpeg', 'image/webp']);
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
  expect(await tokens(dataUrl(GIF, 'image/gif'))).toBe(square);
  expect(await tokens('/icons/icon-192.png')).toBe(square);
  expect(await reply(user(imageAt(`${model.url}/pictures/a.png`), text('a')))).toBe(
    await reply(user(image(first), text('a'))),
  );
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
