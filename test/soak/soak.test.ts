import { expect, inject, test } from 'vitest';

import { launchWithWeights } from '../support/stored-weights.ts';
import { Soak } from './soak.ts';
import { removeFolder, tempFolder } from '../support/temp-folder.ts';

const minutes = Number(process.env['LOCALTEXT_SOAK_MINUTES'] ?? 0.5);
const seed = Number(process.env['LOCALTEXT_SOAK_SEED'] ?? 1);

/** Caches fill in a shorter run, which says nothing of growth. */
const GROWTH_MINUTES = 10;
const MAX_GROWTH = 1.05;

test(
  `nothing is lost, grows or dies (${minutes} minutes)`,
  { timeout: 600_000 + minutes * 60_000, retry: 0 },
  async () => {
    const profile = await tempFolder('soak');
    const context = await launchWithWeights({ profile });
    try {
      const soak = new Soak(context, profile, seed);
      const figures = await soak.run(inject('siteUrl'), minutes);
      console.log(`soak, seed ${seed}: ${JSON.stringify(figures, null, 2)}`);
      expect(soak.faults).toEqual([]);
      expect(figures.epochs).toBe(1);
      expect(figures.requests).toBeGreaterThan(0);
      const [, second, last] = figures.memoryMegabytes;
      if (minutes >= GROWTH_MINUTES && second !== undefined) {
        expect(last).toBeLessThan(second * MAX_GROWTH);
      }
    } finally {
      await context.close();
      await removeFolder(profile);
    }
  },
);
