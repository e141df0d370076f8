import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright';
import { beforeAll, expect, test } from 'vitest';

import { defaultCatalog } from '../../src/catalog/default-catalog.ts';
import { askAddedModel } from '../support/ask-added-model.ts';
import { violations } from '../support/axe.ts';
import { firstLayers } from '../support/first-layers.ts';
import { launch } from '../support/launch.ts';
import { openPage } from '../support/open-page.ts';
import { StaticSite } from '../support/static-site.ts';
import { tinyChat } from '../support/vision/tiny-vision.ts';
import { chatMetadata, oneTensor, writeGguf } from '../support/write-gguf.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { GGUF } from '../support/smollm2.ts';

/** The site serves no chat model. */
const catalog = {
  ...defaultCatalog,
  models: defaultCatalog.models
    .filter(({ id }) => id === 'jade-mole-4')
    .map((model) => ({ ...model, variants: model.variants.filter(({ hub }) => !hub) })),
};

/** The store's names for weights begin with their SHA-256. */
const WEIGHTS = /^[0-9a-f]{64}/;

/** A file of the user's, and its size. */
let chosen: string;
let chosenBytes: number;
beforeAll(async () => {
  const folder = await tempFolder('added');
  const gguf = await firstLayers(GGUF, 2);
  chosenBytes = gguf.length;
  chosen = join(folder, 'SmolLM2-135M-Instruct.Q8_0.gguf');
  await writeFile(chosen, gguf);
});
const storedNames = (page: Page): Promise<string[]> =>
  page.evaluate(async () => {
    let folder = await navigator.storage.getDirectory();
    for (const name of ['localtext', 'weights']) folder = await folder.getDirectoryHandle(name);
    const names: string[] = [];
    for await (const name of folder.keys()) names.push(name);
    return names.toSorted();
  });

const modelIds = (page: Page, key: string): Promise<string[]> =>
  page.evaluate(async (apiKey) => {
    const { data } = await window.client(apiKey).models.list();
    return data.map(({ id }) => id);
  }, key);

/** The file that the user chose. */
async function choose(page: Page, file = chosen): Promise<void> {
  await page.evaluate(() =>
    document.body.replaceChildren(Object.assign(document.createElement('input'), { type: 'file' })),
  );
  await page.locator('input[type=file]').setInputFiles(file);
}

test('a GGUF of the user answers in every tab until it is removed', async () => {
  const site = await StaticSite.start();
  const first = await launch();
  const { page } = await openPage(first, site.url, { catalog });
  await choose(page);
  const [fresh, added] = await page.evaluate(async () => {
    const { models } = await window.localtext;
    await models.list();
    const [gguf] = document.querySelector('input')?.files ?? [];
    if (!gguf) throw new Error('no file was chosen');
    const details = await models.inspect(gguf);
    const progress: number[] = [];
    const model = await models.add(gguf, {
      onProgress: ({ phase, loadedBytes }) => phase === 'copy' && progress.push(loadedBytes),
    });
    const rising = progress.length > 2 && progress.every((bytes, at) => bytes >= (progress[at - 1] ?? 0));
    return [details, { ...model, rising }];
  });
  expect(fresh).toMatchObject({
    architecture: 'llama',
    quantization: 'Q8_0',
    bytes: chosenBytes,
    problem: null,
  });
  expect(added).toMatchObject({
    id: fresh.suggestedId,
    contextLength: 8192,
    bytes: chosenBytes,
    rising: true,
  });
  const { id } = added;

  const { page: second, key: secondKey } = await openPage(first, site.url, { catalog });
  expect(await modelIds(second, secondKey)).toEqual(['jade-mole-4', id]);
  expect(await askAddedModel(second, secondKey, id)).toMatch(/\w/);
  await remove(second, secondKey, id);
});

/** Removes a model, and checks that nothing of it stays. */
async function remove(page: Page, key: string, id: string): Promise<void> {
  expect((await storedNames(page)).some((name) => WEIGHTS.test(name))).toBe(true);
  await page.evaluate(async (target) => (await window.localtext).models.remove(target), id);
  expect(await modelIds(page, key)).toEqual(['jade-mole-4']);
  const left = await page.evaluate(async () => {
    const { variants } = await (await window.localtext).weights.list();
    return variants.filter(({ storedBytes }) => storedBytes > 0);
  });
  expect(left).toEqual([]);
  expect((await storedNames(page)).filter((name) => WEIGHTS.test(name))).toEqual([]);
}

test('a model whose heads are no multiple of 32 values loads and answers', async () => {
  const folder = await tempFolder('added');
  const site = await StaticSite.start();
  const context = await launch();
  const { page, key } = await openPage(context, site.url, { catalog });
  for (const headSize of [80, 100]) {
    const file = join(folder, `heads-${headSize}.gguf`);
    await writeFile(file, tinyChat(headSize));
    await choose(page, file);
    const id = await page.evaluate(async () => {
      const [gguf] = document.querySelector('input')?.files ?? [];
      if (!gguf) throw new Error('no file was chosen');
      return (await (await window.localtext).models.add(gguf)).id;
    });
    expect(await askAddedModel(page, key, id)).toMatch(/^[aeinrst]+$/);
  }
});

test('the playground shows what a dropped file is', async () => {
  const site = await StaticSite.start();
  const context = await launch();
  const page = await context.newPage();
  await page.goto(`${site.url}/#/models`);
  const card = page.getByRole('region', { name: 'Your own model' });
  await drop(page, 'notes.gguf', [...Buffer.from('not weights, but a text that is long enough')]);
  await card.getByRole('alert').getByText('notes.gguf is not a GGUF').waitFor();
  const gguf = writeGguf({ metadata: chatMetadata, tensors: [oneTensor] });
  await drop(page, 'tiny.gguf', [...gguf]);
  await card.getByText('llama, Q8_0').waitFor();
  await card.getByText('It fits.').waitFor();
  expect(await violations(page)).toEqual([]);
});

/** Drops a file on the card for models of the user's. */
async function drop(page: Page, name: string, bytes: number[]): Promise<void> {
  const files = await page.evaluateHandle(
    ([fileName, content]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([new Uint8Array(content)], fileName));
      return transfer;
    },
    [name, bytes] as const,
  );
  await page.locator('.drop-zone').dispatchEvent('drop', { dataTransfer: files });
}

test('chats that begin alike share their beginning, where the tokenizer puts a token before every text', async () => {
  const folder = await tempFolder('added');
  const gguf = await readFile(chosen);
  const [name, boolean] = ['tokenizer.ggml.add_bos_token', 7];
  const type = gguf.indexOf(name) + name.length;
  expect(gguf.readUInt32LE(type)).toBe(boolean);
  gguf[type + 4] = 1;
  const file = join(folder, 'begins-with-a-token.gguf');
  await writeFile(file, gguf);
  const site = await StaticSite.start();
  const context = await launch();
  const { page, key } = await openPage(context, site.url, { catalog });
  await choose(page, file);
  const usages = await page.evaluate(async (apiKey) => {
    const { models } = await window.localtext;
    const [chosenFile] = document.querySelector('input')?.files ?? [];
    if (!chosenFile) throw new Error('no file was chosen');
    const { id: model } = await models.add(chosenFile);
    const client = window.client(apiKey, { timeout: 240_000 });
    const ask = async (question: number): Promise<{ prompt: number; cached: number }> => {
      const { usage } = await client.chat.completions.create({
        model,
        messages: [
          { role: 'system', content: 'The sea is wide and deep, and ships cross it. '.repeat(20) },
          { role: 'user', content: `What is ${question}?` },
        ],
        max_tokens: 4,
      });
      return { prompt: usage?.prompt_tokens ?? 0, cached: usage?.prompt_tokens_details?.cached_tokens ?? 0 };
    };
    return Promise.all([1, 2, 3, 4].map(ask));
  }, key);
  const computed = usages.map(({ prompt, cached }) => prompt - cached).toSorted((a, b) => b - a);
  const [first = 0, ...others] = computed;
  expect(first).toBeGreaterThan(200);
  for (const tokens of others) expect(tokens).toBeLessThan(30);
});
