import type { BrowserContext } from 'playwright';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

import type { Catalog } from '../../src/catalog/catalog.ts';
import { defaultCatalog } from '../../src/catalog/default-catalog.ts';
import { extendCatalog } from '../../src/catalog/parse-catalog.ts';
import { AlteredSite } from '../support/altered-site.ts';
import { speechModel } from '../support/speech/speech-model.ts';
import { launchWithWeights } from '../support/stored-weights.ts';
import { VISION_MODEL, visionModel } from '../support/vision/vision-site.ts';
import { Chaos } from './chaos.ts';

const rounds = Number(process.env['LOCALTEXT_CHAOS_ROUNDS'] ?? 4);
const seed = Number(process.env['LOCALTEXT_CHAOS_SEED'] ?? 1);

let context: BrowserContext;
let site: AlteredSite;
let speech: Awaited<ReturnType<typeof speechModel>>;
let vision: Awaited<ReturnType<typeof visionModel>>;
let catalog: Catalog;

beforeAll(async () => {
  [speech, vision] = await Promise.all([speechModel(), visionModel()]);
  const seeing = vision.catalog.models.filter(({ id }) => id === VISION_MODEL);
  catalog = extendCatalog(defaultCatalog, { models: [...speech.catalog.models, ...seeing] });
  site = await AlteredSite.start(inject('siteUrl'));
  context = await launchWithWeights({ servedBy: site.url });
});

afterAll(async () => {
  await context.close();
  await site.stop();
  speech.close();
  vision.close();
});

test(
  `every request ends well, whatever dies (${rounds} rounds)`,
  // Another run is another course of events: it would hide what this one found.
  { timeout: 180_000 + rounds * 60_000, retry: 0 },
  async () => {
    const chaos = new Chaos(context, inject('siteUrl'), seed, catalog, `${speech.url}/clips/sentence.ogg`);
    try {
      await chaos.setUp();
      while (chaos.figures.rounds < rounds) {
        await chaos.round();
        if (chaos.figures.rounds % 25 === 0) console.log(`${chaos.figures.rounds} rounds`);
      }
    } finally {
      console.log(`chaos, seed ${seed}: ${JSON.stringify(chaos.figures, null, 2)}`);
    }
    expect(chaos.figures.rounds).toBe(rounds);
    expect(chaos.figures.longestUntilFreeMs).toBeLessThan(5000);
  },
);
