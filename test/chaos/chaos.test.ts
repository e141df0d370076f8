import { expect, inject, test } from 'vitest';

import { launchWithWeights } from '../support/stored-weights.ts';
import { startChaosSite } from './chaos-site.ts';
import { Driver, EVENTS } from './driver.ts';

const rounds = Number(process.env['LOCALTEXT_CHAOS_ROUNDS'] ?? 200);
const seed = Number(process.env['LOCALTEXT_CHAOS_SEED'] ?? 1);

test(
  `every request ends well, whatever dies (${rounds} rounds)`,
  // Another run is another course of events: it would hide what this one found.
  { timeout: 180_000 + rounds * 60_000, retry: 0 },
  async () => {
    const site = await startChaosSite();
    const context = await launchWithWeights({ servedBy: site.url });
    const driver = new Driver(context, { ...site, siteUrl: inject('siteUrl'), seed, events: EVENTS });
    try {
      await driver.setUp();
      while (driver.figures.rounds < rounds) {
        await driver.round();
        if (driver.figures.rounds % 25 === 0) console.log(`${driver.figures.rounds} rounds`);
      }
    } finally {
      console.log(`chaos, seed ${seed}: ${JSON.stringify(driver.figures, null, 2)}`);
    }
    expect(driver.figures.rounds).toBe(rounds);
  },
);
