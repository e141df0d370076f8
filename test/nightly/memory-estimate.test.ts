import type { Page } from 'playwright';
import { afterAll, expect, inject, test } from 'vitest';

import { defaultCatalog } from '../../src/catalog/default-catalog.ts';
import { extendCatalog } from '../../src/catalog/parse-catalog.ts';
import type { VariantEstimate } from '../../src/protocol/worker-control.ts';
import { launch } from '../support/launch.ts';
import { openPage, type StartedPage } from '../support/open-page.ts';
import { findRoot, peakTreeBytes, treeBytes } from '../support/process-memory.ts';
import { speechModel } from '../support/speech/speech-model.ts';
import { removeFolder, tempFolder } from '../support/temp-folder.ts';

const TOLERANCE = 0.15;
/** Loads of each variant. A peak depends on when the browser collects what a load leaves behind: the median counts. */
const LOADS = 3;
const text = 'The lighthouse keeper counts ships, writes their names down, and lights the lamp at dusk. ';

/** About 120 tokens. */
const chat = (page: Page, key: string): Promise<unknown> =>
  page.evaluate(
    async ([apiKey, content]) => {
      await window.client(apiKey).chat.completions.create({
        model: 'amber-phoenix-4',
        messages: [{ role: 'user', content }],
        max_tokens: 2,
      });
    },
    [key, text.repeat(6)] as const,
  );

const embed = (page: Page, key: string): Promise<unknown> =>
  page.evaluate(
    async ([apiKey, input]) => {
      await window.client(apiKey).embeddings.create({ model: 'jade-mole-4', input });
    },
    [key, Array.from({ length: 16 }, (_, at) => text.repeat(1 + (at % 8)))] as const,
  );

const speech = await speechModel();
afterAll(() => speech.close());

const transcribe = (page: Page, key: string): Promise<unknown> =>
  page.evaluate(
    async ([apiKey, url]) => {
      const file = new File([await (await fetch(url)).blob()], 'sentence.wav');
      await window.client(apiKey).audio.transcriptions.create({ file, model: 'coral-wren-4' });
    },
    [key, `${speech.url}/clips/sentence.wav`] as const,
  );

const catalog = extendCatalog(defaultCatalog, speech.catalog);

/** Linux alone tells how much memory processes hold. */
test.runIf(process.platform === 'linux').each([
  ['smollm2-135m-instruct-q4_1', 'amber-phoenix-4', chat],
  ['smollm2-135m-instruct-q8_0', 'amber-phoenix-4', chat],
  ['all-minilm-l6-v2-f32', 'jade-mole-4', embed],
  ['all-minilm-l6-v2-int8', 'jade-mole-4', embed],
  ['whisper-tiny.en-q8', 'coral-wren-4', transcribe],
])('the estimate of %s is within 15 % of the measured peak', async (variant, model, use) => {
  const profile = await tempFolder('memory');
  const options = encodeURIComponent(JSON.stringify({ prefer: [variant], catalog }));
  const inBrowser = async <T>(work: (started: StartedPage) => Promise<T>): Promise<T> => {
    const context = await launch({ profile });
    try {
      return await work(await openPage(context, inject('siteUrl'), `/test-page.html#options=${options}`));
    } finally {
      await context.close();
    }
  };
  try {
    // In a browser of which nothing is measured: a download leaves buffers behind that are collected late.
    await inBrowser(async ({ page }) => {
      expect((await estimateOf(page, model, variant)).downloadBytes).toBeGreaterThan(0);
      await page.evaluate(async (id) => (await window.localtext).ready(id), model);
      // Nothing is left, and how fast it came was measured.
      await expect
        .poll(() => estimateOf(page, model, variant))
        .toMatchObject({ downloadBytes: 0, downloadSeconds: 0 });
    });
    const measured: number[] = [];
    let estimated = 0;
    for (let load = 0; load < LOADS; load++)
      await inBrowser(async ({ page, key }) => {
        const { memoryBytes, promptStateBytes } = await estimateOf(page, model, variant);
        // States of earlier prompts take their part only after as many tokens as the context holds.
        estimated = memoryBytes - promptStateBytes;
        const root = await findRoot(`--user-data-dir=${profile}`);
        const before = await treeBytes(root);
        measured.push((await peakTreeBytes(root, use(page, key))) - before);
      });
    console.log(`${variant}: ${measured.map(megabytes)} MB measured, ${megabytes(estimated)} MB estimated`);
    const median = measured.toSorted((a, b) => a - b)[(LOADS - 1) / 2] ?? 0;
    expect(Math.abs(estimated / median - 1)).toBeLessThan(TOLERANCE);
  } finally {
    await removeFolder(profile);
  }
});

const megabytes = (bytes: number): number => Math.round(bytes / 1e6);

/** Waits for the engine's estimate. */
async function estimateOf(page: Page, model: string, variant: string): Promise<VariantEstimate> {
  let estimate: VariantEstimate | undefined;
  await expect
    .poll(async () => {
      const { models } = await page.evaluate(async () => (await window.localtext).status());
      estimate = models.find(({ id }) => id === model)?.estimates?.[variant];
      return estimate;
    })
    .toBeDefined();
  return estimate as VariantEstimate;
}
