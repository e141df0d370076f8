import type { Page } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import { launch } from '../support/launch.ts';
import { send } from '../support/send.ts';
import { dataUrl, drawn, GIF, PICTURES } from '../support/vision/pictures.ts';
import { VISION_MODEL, visionModel } from '../support/vision/vision-site.ts';
import { hostileParts } from './hostile-parts.ts';
import { review, type Outcome } from './outcome.ts';
import { seed } from './seed.ts';

/** Content parts of messages to a model that sees: in Node they are made, the page sends them. */

const parts = Number(process.env['LOCALTEXT_FUZZ_PARTS'] ?? 100);
const BATCH = 50;
const LANES = 2;
const PATH = '/v1/chat/completions';

let page: Page;
let key: string;

beforeAll(async () => {
  const [model, context] = await Promise.all([visionModel(), launch()]);
  page = await context.newPage();
  const options = encodeURIComponent(JSON.stringify({ catalog: model.catalog }));
  await page.goto(`${inject('siteUrl')}/fuzz-page.html?options=${options}`);
  key = await page.evaluate((inFlight) => window.fuzz.issue(inFlight), LANES);
});

test(
  `no content part breaks the service (${parts} messages, seed ${seed})`,
  { timeout: 120_000 + parts * 1000, retry: 0 },
  async () => {
    const [picture = GIF] = PICTURES;
    const content = [{ type: 'image_url', image_url: { url: dataUrl(picture) } }];
    const sane = {
      model: VISION_MODEL,
      temperature: 0,
      max_tokens: 8,
      messages: [{ role: 'user', content }],
    };
    const reply = async (): Promise<string | undefined> => {
      const { body } = await send<{ choices: { message: { content: string } }[] }>(page, key, PATH, sane);
      return body.choices[0]?.message.content;
    };
    const before = await reply();
    expect(before).toMatch(/^[a-z]{8}$/);
    const images = [...PICTURES, GIF, ...(await drawn(page, ['image/jpeg', 'image/webp']))];
    const outcomes: Outcome[] = [];
    for (let at = 0; at < parts; at += BATCH) {
      const bodies = Array.from({ length: Math.min(BATCH, parts - at) }, (_, index) =>
        JSON.stringify({ model: VISION_MODEL, ...hostileParts(seed, at + index, images) }),
      );
      const args = [key, PATH, bodies, at, LANES] as const;
      outcomes.push(...(await page.evaluate((given) => window.fuzz.runBodies(...given), args)));
      // A run that is cut short tells how far it came.
      if (outcomes.length % 500 === 0) console.log(`${outcomes.length} of ${parts} messages`);
    }
    expect(review('messages', seed, outcomes).faults).toEqual([]);
    expect(await reply()).toBe(before);
  },
);
