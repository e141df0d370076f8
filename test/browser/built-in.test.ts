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

  const [cool, logprobs] = await page.evaluate(
    async (apiKey) => [
      await window.ask(apiKey, { temperature: 0.2 }),
      await window.ask(apiKey, { logprobs: true }),
    ],
    key,
  );
  expect(cool?.servedBy).toMatch(/^built-in-/);
  expect(logprobs?.servedBy).toMatch(/^smollm2/);

  const { created, destroyed } = await page.evaluate(() => window.languageModelCalls);
  expect(created.map(({ samplingMode }) => samplingMode).filter(Boolean)).toEqual(['predictable']);
  expect(destroyed).toBe(created.length);
  await page.close();
});

test('pictures go to a session that takes them', async () => {
  const page = await context.newPage();
  await page.addInitScript(installLanguageModel, { images: true } as const);
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
      return { seen, damaged, calls: window.languageModelCalls };
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
