import type { BrowserContext, Page } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import { launch } from '../support/launch.ts';
import { FORMATS, speechModel } from '../support/speech/speech-model.ts';
import { review, type Outcome } from './outcome.ts';
import { seed } from './seed.ts';

const forms = Number(process.env['LOCALTEXT_FUZZ_FORMS'] ?? 60);
const LANES = 4;
const BATCH = 25;

let model: Awaited<ReturnType<typeof speechModel>>;
let context: BrowserContext;
let page: Page;

beforeAll(async () => {
  model = await speechModel();
  context = await launch();
  page = await context.newPage();
  const options = encodeURIComponent(JSON.stringify({ catalog: model.catalog }));
  await page.goto(`${inject('siteUrl')}/fuzz-page.html?options=${options}`);
});

test(
  `no form with a file breaks the service (${forms} forms, seed ${seed})`,
  { timeout: 120_000 + forms * 2000, retry: 0 },
  async () => {
    const urls = FORMATS.map((ending) => `${model.url}/clips/sentence.${ending}`);
    const key = await page.evaluate((clips) => window.fuzz.setUpSpeech(clips), urls);
    const epoch = await page.evaluate(() => window.fuzz.epoch());
    const outcomes: Outcome[] = [];
    for (let at = 0; at < forms; at += BATCH) {
      const batch = Array.from({ length: Math.min(BATCH, forms - at) }, (_, index) => at + index);
      const args = [key, seed, batch, LANES] as const;
      const began = performance.now();
      const found = await page.evaluate((given) => window.fuzz.runForms(...given), args);
      outcomes.push(...found);
      expect(await page.evaluate(() => window.fuzz.state()), 'no file unloads the model').toBe('ready');
      // A run that is cut short tells how far it came.
      const slow = found
        .filter(({ ms }) => ms > 10_000)
        .map(({ index, kind, ms }) => `${index} ${kind} ${Math.round(ms)} ms`);
      const seconds = Math.round((performance.now() - began) / 1000);
      console.log(
        `${outcomes.length} of ${forms} forms, ${seconds} s; over 10 s: ${slow.join(', ') || 'none'}`,
      );
    }
    const { statuses, faults } = review('forms', seed, outcomes);
    expect(faults).toEqual([]);
    // Most is refused, and what is sound is not.
    expect(statuses[200]).toBeGreaterThan(forms / 20);
    expect(statuses[400]).toBeGreaterThan(forms / 3);
    expect(await page.evaluate(() => window.fuzz.epoch()), 'the engine was started again').toBe(epoch);
  },
);
