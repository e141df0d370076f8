import type { Page } from 'playwright';
import { afterAll, expect, inject, test } from 'vitest';

import { defaultCatalog } from '../../src/catalog/default-catalog.ts';
import { extendCatalog } from '../../src/catalog/parse-catalog.ts';
import type { VariantEstimate } from '../../src/protocol/status.ts';
import { findWeights } from '../../tools/bench/quality/find-weights.ts';
import { serveWeights } from '../../tools/bench/quality/quality-page.ts';
import { launch } from '../support/launch.ts';
import { openPage, type StartedPage } from '../support/open-page.ts';
import { findRoot, peakTreeBytes, treeBytes } from '../support/process-memory.ts';
import { speechModel } from '../support/speech/speech-model.ts';
import { removeFolder, tempFolder } from '../support/temp-folder.ts';
import { ask, embed, post } from '../support/ask-page.ts';
import { modelOf } from '../support/catalogs.ts';

const TOLERANCE = 0.15;
/** Loads of each variant. A peak depends on when the browser collects what a load leaves behind: the median counts. */
const LOADS = 3;
/** Buffers that a first download leaves behind, and the browser collects late: no estimate has them. */
const DOWNLOAD_BYTES = 400e6;
const text = 'The lighthouse keeper counts ships, writes their names down, and lights the lamp at dusk. ';

/** A request for a model, by a key. */
type Use = (page: Page, key: string, model: string) => Promise<unknown>;

/** About 120 tokens. */
const chat: Use = (page, key, model) => ask(page, key, model, text.repeat(6), { max_tokens: 2 });

/** The same text, for models that cannot chat too. */
const complete: Use = (page, key, model) =>
  post(page, key, 'completions', { model, prompt: text.repeat(6), max_tokens: 2 });

const embedMany: Use = (page, key, model) => {
  const input = Array.from({ length: 16 }, (_, at) => text.repeat(1 + (at % 8)));
  return embed(page, key, model, input);
};

const speech = await speechModel();

const transcribe: Use = (page, key, id) =>
  page.evaluate(
    async ([apiKey, model, url]) => {
      const file = new File([await (await fetch(url)).blob()], 'sentence.wav');
      await window.client(apiKey).audio.transcriptions.create({ file, model });
    },
    [key, id, `${speech.url}/clips/sentence.wav`] as const,
  );

/** LOCALTEXT_GGUFS: paths of models of text that are measured too. */
const ggufs = process.env['LOCALTEXT_GGUFS']?.split(' ') ?? [];
const added = await Promise.all(
  ggufs.map(async (path) => {
    const [{ variant }, { file, close }] = await Promise.all([findWeights(path, ''), serveWeights(path)]);
    return { variant: { ...variant, files: [file] }, close };
  }),
);
afterAll(() => {
  for (const { close } of added) close();
});
const own = added.map(({ variant }) => modelOf(variant.name, [variant]));
const catalog = extendCatalog(extendCatalog(defaultCatalog, speech.catalog), { models: own });

/** Linux alone tells how much memory processes hold. */
test
  .runIf(process.platform === 'linux')
  .each<[string, string, Use]>([
    ['smollm2-135m-instruct-q4_1', 'amber-phoenix-4', chat],
    ['all-minilm-l6-v2-f32', 'jade-mole-4', embedMany],
    ['all-minilm-l6-v2-int8', 'jade-mole-4', embedMany],
    ['whisper-tiny.en-q8', 'coral-wren-4', transcribe],
    ...own.map(({ id }): [string, string, Use] => [id, id, complete]),
  ])('the estimate of %s is within 15 % of the measured peak', async (variant, model, use) => {
  const profile = await tempFolder('memory');
  const inBrowser = async <T>(work: (started: StartedPage) => Promise<T>): Promise<T> => {
    const context = await launch({ profile });
    try {
      return await work(await openPage(context, inject('siteUrl'), { prefer: [variant], catalog }));
    } finally {
      await context.close();
    }
  };
  try {
    /** Growth of the browser's memory by a load and a request; files are downloaded where they are not stored. */
    const growth = async ({ page, key }: StartedPage): Promise<number> => {
      const root = await findRoot(`--user-data-dir=${profile}`);
      const before = await treeBytes(root);
      return (await peakTreeBytes(root, use(page, key, model))) - before;
    };
    const firstVisit = await inBrowser(async (started) => {
      const { page } = started;
      expect((await estimateOf(page, model, variant)).downloadBytes).toBeGreaterThan(0);
      const peak = await growth(started);
      // Nothing is left, and how fast it came was measured.
      await expect
        .poll(() => estimateOf(page, model, variant))
        .toMatchObject({ downloadBytes: 0, downloadSeconds: 0 });
      return peak;
    });
    const measured: number[] = [];
    let estimated = 0;
    for (let load = 0; load < LOADS; load++)
      await inBrowser(async (started) => {
        const { memoryBytes, promptStateBytes } = await estimateOf(started.page, model, variant);
        // States of earlier prompts take their part only after as many tokens as the context holds.
        estimated = memoryBytes - promptStateBytes;
        measured.push(await growth(started));
      });
    console.log(
      `${variant}: ${measured.map(megabytes)} MB measured, ${megabytes(firstVisit)} MB on the first visit, ${megabytes(estimated)} MB estimated`,
    );
    const median = measured.toSorted((a, b) => a - b)[(LOADS - 1) / 2] ?? 0;
    expect(Math.abs(estimated / median - 1)).toBeLessThan(TOLERANCE);
    expect(firstVisit - estimated).toBeLessThan(DOWNLOAD_BYTES);
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
