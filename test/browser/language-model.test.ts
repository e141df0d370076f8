/// <reference types="dom-chromium-ai" />
import type { BrowserContext, Page } from 'playwright';
import { beforeAll, expect, inject, onTestFinished, test } from 'vitest';

import { launch } from '../support/launch.ts';
import { launchWithWeights } from '../support/stored-weights.ts';
import { PICTURES } from '../support/vision/pictures.ts';
import { VISION_MODEL, visionModel } from '../support/vision/vision-site.ts';

const path = '/language-model-page.html';
let context: BrowserContext;
let page: Page;

beforeAll(async () => {
  context = await launchWithWeights();
  page = await context.newPage();
  await page.goto(inject('siteUrl') + path);
});

test('a session loads stored weights, answers in pieces, and counts its tokens', async () => {
  const result = await page.evaluate(async () => {
    const expectedInputs: LanguageModelExpected[] = [{ type: 'text', languages: ['en'] }];
    const availability = await LanguageModel.availability({ expectedInputs });
    const shares: number[] = [];
    const session = await LanguageModel.create({
      expectedInputs,
      samplingMode: 'most-predictable',
      initialPrompts: [{ role: 'system', content: 'You are a helpful assistant.' }],
      monitor: (monitor) => monitor.addEventListener('downloadprogress', ({ loaded }) => shares.push(loaded)),
    });
    const initial = session.contextUsage;
    const measured = await session.measureContextUsage('Say hello.');
    const pieces: string[] = [];
    const reader = session.promptStreaming('Say hello.').getReader();
    for (let read = await reader.read(); !read.done; read = await reader.read()) pieces.push(read.value);
    const copy = await session.clone();
    return {
      availability,
      shares,
      initial,
      measured,
      pieces,
      used: [session.contextUsage, copy.contextUsage],
    };
  });
  expect(result).toMatchObject({ availability: 'available', shares: [0, 1] });
  expect(result.pieces.length).toBeGreaterThan(2);
  expect(result.pieces.join('')).toMatch(/\w/);
  const [used = 0, copied] = result.used;
  expect(copied).toBe(used);
  // Tokens of the prompt and the reply, and those that the chat template has around them.
  expect(used).toBeGreaterThan(result.initial + result.pieces.length);
  expect(used).toBeLessThan(result.initial + result.measured + result.pieces.length + 15);
});

test('a constraint holds: an expression, a schema, an expression after a prefix', async () => {
  const result = await page.evaluate(async () => {
    const session = await LanguageModel.create({ samplingMode: 'most-predictable' });
    const regular = (expression: RegExp) => ({
      responseConstraint: expression as object as Record<string, unknown>,
    });
    const greeting = (content: string): LanguageModelPrompt => [
      { role: 'user', content: 'hello' },
      { role: 'assistant', content, prefix: true },
    ];
    const rating = { type: 'number', minimum: 0, maximum: 5 };
    return {
      answer: await session.prompt('Is Paris in France?', regular(/^(yes|no)$/i)),
      rated: await session.prompt('Rate the food: very good.', {
        responseConstraint: {
          type: 'object',
          required: ['rating'],
          additionalProperties: false,
          properties: { rating },
        },
      }),
      begun: await session.prompt(greeting('{ "rating": '), {
        responseConstraint: {
          type: 'object',
          required: ['rating', 'why'],
          additionalProperties: false,
          properties: { rating, why: { enum: ['good', 'bad'] } },
        },
      }),
      deviating: await session
        .prompt(greeting('invalid'), { responseConstraint: { type: 'object' } })
        .catch((error: Error) => error.name),
      optional: await session.prompt('Rate the food: very good.', {
        responseConstraint: { type: 'object', properties: { rating, why: { enum: ['good', 'bad'] } } },
      }),
      unenforced: await session
        .prompt('Rate the food.', { responseConstraint: { type: 'array', contains: rating } })
        .catch((error: Error) => error.name),
      greeted: await session.prompt(greeting('Greetings'), regular(/^Greetings and salutations.*/)),
      contradiction: await session
        .prompt(greeting('Bye'), regular(/^Greetings.*/))
        .catch((error: Error) => error.name),
    };
  });
  expect(result.answer).toMatch(/^(yes|no)$/);
  expect(JSON.parse(result.rated)).toEqual({ rating: expect.any(Number) as number });
  expect(JSON.parse(`{ "rating": ${result.begun}`)).toEqual({
    rating: expect.any(Number) as number,
    why: expect.stringMatching(/good|bad/) as string,
  });
  expect(result.deviating).toBe('NotSupportedError');
  expect(JSON.parse(result.optional)).toBeTypeOf('object');
  expect(result.unenforced).toBe('NotSupportedError');
  expect(result.greeted).toMatch(/^ and salutations/);
  expect(result.contradiction).toBe('NotSupportedError');
});

test('a tool without execute is called by the page, as pages of Chrome do', async () => {
  const result = await page.evaluate(async () => {
    interface Call {
      type: 'tool-call';
      value: { callID: string; name: string; arguments: Record<string, unknown> };
    }
    const { LanguageModelToolSuccess: Success } = window as unknown as {
      LanguageModelToolSuccess: new (init: object) => object;
    };
    const session = await LanguageModel.create({
      samplingMode: 'most-predictable',
      expectedInputs: [{ type: 'tool-response' }],
      expectedOutputs: [{ type: 'tool-call' }],
      tools: [
        {
          name: 'get_weather',
          description: 'Get the weather in a location.',
          inputSchema: {
            type: 'object',
            properties: { location: { type: 'string', description: 'The city.' } },
            required: ['location'],
          },
        },
      ],
    } as unknown as LanguageModelCreateOptions);
    const reply = (await session.prompt('What is the weather in Seattle?')) as unknown as Call[];
    const [call] = reply;
    if (typeof reply === 'string' || !call) return { call: null, next: reply };
    const { callID, name } = call.value;
    const value = new Success({ callID, name, result: [{ type: 'text', value: 'Rain, 9 degrees.' }] });
    const next = await session.prompt([
      { role: 'user', content: [{ type: 'tool-response', value }] },
    ] as unknown as LanguageModelPrompt);
    return { call: { ...call.value }, next };
  });
  expect(result.call).toMatchObject({
    name: 'get_weather',
    arguments: { location: expect.any(String) as string },
  });
  expect(result.next).toMatch(/\w/);
});

test('an image is the same from each source, and another image has another reply', async () => {
  const { catalog, url } = await visionModel();
  const seeing = await launch();
  onTestFinished(() => seeing.close());
  const tab = await seeing.newPage();
  const options = encodeURIComponent(JSON.stringify({ catalog, images: { origins: [`${url}/`] } }));
  await tab.goto(`${inject('siteUrl')}${path}?options=${options}&model=${VISION_MODEL}&maxTokens=8`);
  await tab.mouse.click(1, 1);
  const pictures = PICTURES.map((picture) => picture.toString('base64'));
  const { replies, usage } = await tab.evaluate(async (files) => {
    const expectedInputs: LanguageModelExpected[] = [{ type: 'image' }];
    const session = await LanguageModel.create({ samplingMode: 'most-predictable', expectedInputs });
    const prompt = (value: LanguageModelMessageValue): LanguageModelPrompt => [
      {
        role: 'user',
        content: [
          { type: 'text', value: 'What is it?' },
          { type: 'image', value },
        ],
      },
    ];
    const ask = async (value: LanguageModelMessageValue): Promise<string> =>
      (await session.clone()).prompt(prompt(value));
    const blobs = files.map((base64) => new Blob([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))]));
    const [blob = new Blob()] = blobs;
    const bitmap = await createImageBitmap(blob);
    const { width, height } = bitmap;
    const draw = (): HTMLCanvasElement => {
      const drawn = Object.assign(document.createElement('canvas'), { width, height });
      drawn.getContext('2d')?.drawImage(bitmap, 0, 0);
      return drawn;
    };
    const canvas = draw();
    const data = canvas.getContext('2d')?.getImageData(0, 0, width, height) ?? blob;
    const sources = [blob, await blob.arrayBuffer(), bitmap, canvas, data];
    const same = sources.map(ask);
    const later = draw();
    // It is cleared while its prompt waits for another, which leaves no trace.
    const copy = await session.clone();
    const abort = new AbortController();
    const first = copy.prompt('Hello', { signal: abort.signal }).catch(() => {});
    same.push(copy.prompt(prompt(later)));
    later.width = 1;
    abort.abort();
    await first;
    return {
      replies: { same: await Promise.all(same), others: await Promise.all(blobs.map(ask)) },
      usage: [
        await session.measureContextUsage('What is it?'),
        await session.measureContextUsage(prompt(blob)),
      ],
    };
  }, pictures);
  expect(new Set(replies.same).size).toBe(1);
  expect(new Set(replies.others).size).toBeGreaterThan(3);
  const [plain = 0, withImage = 0] = usage;
  expect(withImage).toBeGreaterThan(plain + 10);
  // As an extension does that alters the canvases of pages and not of workers: the model would see noise.
  const refused = await tab.evaluate(async () => {
    OffscreenCanvasRenderingContext2D.prototype.getImageData = () => new ImageData(64, 64);
    const session = await LanguageModel.create({ expectedInputs: [{ type: 'image' }] });
    const value = new ImageData(8, 8);
    return session.prompt([{ role: 'user', content: [{ type: 'image', value }] }]).catch(String);
  });
  expect(refused).toMatch(/^EncodingError: The image cannot be read: this browser alters/);
});
