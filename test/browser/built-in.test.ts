import type { BrowserContext } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';
import { defaultCatalog } from '../../src/catalog/default-catalog.ts';
import { withBuiltIn } from '../../src/catalog/with-built-in.ts';
import { installLanguageModel } from '../support/fake-language-model.ts';
import { openPage } from '../support/open-page.ts';
import { launchWithWeights } from '../support/stored-weights.ts';

const model = 'amber-phoenix-4';
const siteUrl = inject('siteUrl');
const options = JSON.stringify({ catalog: withBuiltIn(defaultCatalog, model) });
const path = `/test-page.html?options=${encodeURIComponent(options)}`;
let context: BrowserContext;

beforeAll(async () => {
  context = await launchWithWeights();
});

declare global {
  interface Window {
    ask(apiKey: string, more?: object): Promise<{ text: string; servedBy: string; usage: unknown }>;
    /** Text of the latest `ask()` so far. */
    heard: string;
    languageModelCalls: ReturnType<typeof installLanguageModel>;
  }
}

/** Defines `ask` in the page: one streamed chat. */
function defineAsk(id: string): void {
  window.ask = async (apiKey, more = {}) => {
    const stream = await window.client(apiKey).chat.completions.create({
      model: id,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Count.' },
      ],
      max_tokens: 12,
      stream: true,
      stream_options: { include_usage: true },
      ...more,
    });
    let [text, servedBy, usage]: [string, string, unknown] = ['', '', null];
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      window.heard = text;
      servedBy = chunk.system_fingerprint ?? servedBy;
      usage = chunk.usage ?? usage;
    }
    return { text, servedBy, usage };
  };
}

test("the browser's model answers once the user has downloaded it, and the weights answer what it cannot", async () => {
  await context.addInitScript(defineAsk, model);
  const page = await context.newPage();
  await page.addInitScript(installLanguageModel, { state: 'downloadable', chunkMs: 20 } as const);
  await page.goto(siteUrl + path);
  const key = await page.evaluate(
    async () => (await (await window.localtext).keys.issue({ label: 'a' })).key,
  );

  // Nobody has asked for the download.
  expect(await page.evaluate((apiKey) => window.ask(apiKey), key)).toMatchObject({
    servedBy: expect.stringMatching(/^smollm2/) as string,
  });
  const before = await page.evaluate(async () => {
    const { models } = await (await window.localtext).status();
    return {
      reasons: models.find(({ id }) => id === 'amber-phoenix-4')?.reasons,
      calls: window.languageModelCalls,
    };
  });
  expect(before.reasons).toContainEqual({
    variant: 'built-in',
    engine: 'built-in',
    chosen: false,
    reason: expect.stringContaining('nobody has asked') as string,
  });
  expect(before.calls.created).toEqual([]);

  // The user does, by a click.
  const shares = page.evaluate(
    (id) =>
      new Promise<number[]>((resolve, reject) => {
        const button = document.body.appendChild(document.createElement('button'));
        button.textContent = 'Download';
        button.addEventListener('click', () => {
          const seen: number[] = [];
          window.localtext
            .then((localtext) =>
              localtext.ready(id, {
                builtIn: 'download',
                onProgress: ({ phase, loadedBytes }) => phase === 'download' && seen.push(loadedBytes),
              }),
            )
            .then(() => resolve(seen), reject);
        });
      }),
    model,
  );
  await page.getByRole('button', { name: 'Download' }).click();
  expect(await shares).toEqual([0, 0.5, 1]);

  const whole = await page.evaluate((apiKey) => window.ask(apiKey), key);
  expect(whole.text).toBe('one two three four five');
  expect(whole.servedBy).toMatch(/^built-in-/);
  // A message is a token more than its words.
  expect(whole.usage).toMatchObject({ prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 });

  const format = { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'object' } } };
  const answers = await page.evaluate(
    async ({ apiKey, format: form }) => ({
      stopped: await window.ask(apiKey, { stop: 'three' }),
      short: await window.ask(apiKey, { max_tokens: 2 }),
      formed: await window.ask(apiKey, { response_format: form }),
      atOnce: await Promise.all([window.ask(apiKey), window.ask(apiKey)]),
      cool: await window.ask(apiKey, { temperature: 0.2 }),
      logprobs: await window.ask(apiKey, { logprobs: true }),
    }),
    { apiKey: key, format },
  );
  expect(answers.stopped.text).toBe('one two ');
  expect(answers.short.text).toBe('one two ');
  expect(JSON.parse(answers.formed.text)).toEqual({ city: 'Oslo' });
  expect(answers.atOnce.map(({ text }) => text)).toEqual([whole.text, whole.text]);
  expect(answers.cool.servedBy).toMatch(/^built-in-/);
  expect(answers.logprobs.servedBy).toMatch(/^smollm2/);

  const aborted = await page.evaluate(async (apiKey) => {
    const { aborted: earlier } = window.languageModelCalls;
    const abort = new AbortController();
    const client = window.client(apiKey);
    const messages = [{ role: 'user' as const, content: 'Count.' }];
    const stream = await client.chat.completions.create(
      { model: 'amber-phoenix-4', messages, stream: true },
      { signal: abort.signal },
    );
    for await (const _ of stream) abort.abort();
    const { text } = await window.ask(apiKey);
    return { aborts: window.languageModelCalls.aborted - earlier, text };
  }, key);
  expect(aborted.aborts).toBeGreaterThan(0);
  expect(aborted.text).toBe(whole.text);

  const { created, destroyed } = await page.evaluate(() => window.languageModelCalls);
  expect(created.map(({ samplingMode }) => samplingMode).filter(Boolean)).toEqual(['predictable']);
  expect(destroyed).toBe(created.length);
  await page.close();
});

test("the tab with the browser's session is closed: the next one's session continues the reply", async () => {
  const open = async () => {
    const page = await context.newPage();
    await page.addInitScript(installLanguageModel, { chunkMs: 400 } as const);
    await page.goto(siteUrl + path);
    const key = await page.evaluate(
      async () => (await (await window.localtext).keys.issue({ label: 'a' })).key,
    );
    return { page, key };
  };
  const leader = await open();
  const { page, key } = await open();
  const asking = page.evaluate((apiKey) => window.ask(apiKey), key);
  await page.waitForFunction(() => /\w/.test(window.heard ?? ''));
  await leader.page.close();
  const { text, servedBy } = await asking;
  expect(text).toBe('one two three four five');
  expect(servedBy).toMatch(/^built-in-/);
  const { prompts } = await page.evaluate(() => window.languageModelCalls);
  expect(prompts).toMatchObject([
    {
      input: [
        { role: 'user', content: 'Count.' },
        { role: 'assistant', content: expect.stringMatching(/^one /) as string, prefix: true },
      ],
    },
  ]);
  await page.close();
});

test('pictures go to a session that takes them, and calls of functions have the form of their schema', async () => {
  const page = await context.newPage();
  const reply = '<tool_call>[{"name": "weather", "arguments": {"city": "Bergen"}}]';
  await page.addInitScript(installLanguageModel, { images: true, reply } as const);
  await page.goto(siteUrl + path);
  const key = await page.evaluate(
    async () => (await (await window.localtext).keys.issue({ label: 'a' })).key,
  );
  const answers = await page.evaluate(
    async ({ apiKey, id }) => {
      const canvas = Object.assign(document.createElement('canvas'), { width: 6, height: 4 });
      canvas.getContext('2d')?.fillRect(0, 0, 6, 4);
      const url = canvas.toDataURL();
      const { completions } = window.client(apiKey).chat;
      const picture = { type: 'image_url' as const, image_url: { url } };
      const seen = await completions.create({
        model: id,
        messages: [
          { role: 'user', content: [picture, { type: 'text', text: 'What is it?' }] },
          { role: 'assistant', content: 'Black.' },
          {
            role: 'user',
            content: [{ type: 'text', text: 'And' }, picture, { type: 'text', text: 'this?' }, picture],
          },
        ],
      });
      const damaged = await completions
        .create({
          model: id,
          messages: [{ role: 'user', content: [{ ...picture, image_url: { url: url.slice(0, -40) } }] }],
        })
        .catch(({ status, param }: { status: number; param: string }) => ({ status, param }));
      const tools = [
        {
          type: 'function' as const,
          function: {
            name: 'weather',
            parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
          },
        },
      ];
      const call = async (more: object) => {
        const { choices, system_fingerprint: servedBy } = await completions.create({
          model: id,
          messages: [{ role: 'user', content: 'Weather in Oslo?' }],
          tools,
          ...more,
        });
        return { servedBy, message: choices[0]?.message, reason: choices[0]?.finish_reason };
      };
      return {
        seen,
        damaged,
        auto: await call({}),
        required: await call({ tool_choice: 'required' }),
        named: await call({ tool_choice: { type: 'function', function: { name: 'weather' } } }),
        none: await call({ tool_choice: 'none' }),
        calls: window.languageModelCalls,
      };
    },
    { apiKey: key, id: model },
  );
  expect(answers.seen.system_fingerprint).toMatch(/^built-in-/);
  // An image is 50 tokens, a message one more than its words.
  expect(answers.seen.usage?.prompt_tokens).toBe(50 + 4 + 2 + 100 + 3);
  const picture = { type: 'image', value: '6 × 4' };
  expect(answers.calls.created[0]?.initialPrompts).toEqual([
    { role: 'user', content: [picture, { type: 'text', value: 'What is it?' }] },
    { role: 'assistant', content: 'Black.' },
  ]);
  expect(answers.calls.prompts[0]?.input).toEqual([
    {
      role: 'user',
      content: [{ type: 'text', value: 'And' }, picture, { type: 'text', value: 'this?' }, picture],
    },
  ]);
  expect(answers.damaged).toEqual({ status: 400, param: 'messages[0].content[0]' });
  expect([answers.auto, answers.required, answers.named].map(({ reason }) => reason)).toEqual([
    'tool_calls',
    'tool_calls',
    'stop',
  ]);
  for (const { servedBy, message } of [answers.auto, answers.required, answers.named]) {
    expect(servedBy).toMatch(/^built-in-/);
    expect(message?.tool_calls).toMatchObject([
      { type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } },
    ]);
  }
  expect(answers.none.message).toMatchObject({ content: reply });
  await page.close();
});

test('the Prompt API of this Chromium, as it is: the weights answer, and the status says why', async () => {
  const { page, key } = await openPage(context, siteUrl, path);
  const found = await page.evaluate(async () => {
    const api = (globalThis as { LanguageModel?: { availability(): Promise<string> } }).LanguageModel;
    return api ? api.availability() : 'absent';
  });
  // A browser for tests has no model, nor may it download one.
  expect(['absent', 'unavailable', 'downloadable']).toContain(found);
  expect((await page.evaluate((apiKey) => window.ask(apiKey), key)).servedBy).toMatch(/^smollm2/);
  const { models } = await page.evaluate(async () => (await window.localtext).status());
  const reason = models.find(({ id }) => id === model)?.reasons?.find(({ engine }) => engine === 'built-in');
  const texts: Record<string, string> = {
    absent: 'this browser does not offer',
    unavailable: 'does not offer on this device',
    downloadable: 'nobody has asked',
  };
  expect(reason).toMatchObject({
    chosen: false,
    reason: expect.stringContaining(texts[found] ?? '') as string,
  });
  await page.close();
});

test("the playground offers the browser's model where there is one, says what it costs, and downloads it on a click", async () => {
  const page = await context.newPage();
  await page.addInitScript(installLanguageModel, { state: 'downloadable' } as const);
  await page.goto(`${siteUrl}/#/models`);
  const card = page.getByRole('region', { name: 'The browser’s own model' });
  await card.getByRole('button', { name: 'Use the browser’s model' }).click();
  await card.getByText('nobody has asked for that').waitFor();
  await card.getByText('22 GB of free disk space').waitFor();
  await card.getByRole('button', { name: 'Download the browser’s model' }).click();
  await card.getByText('is answered by the browser’s own model').waitFor();
  await page.close();
});
