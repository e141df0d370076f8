import { expect, inject, test } from 'vitest';

import { findRoot, treeBytes } from '../support/process-memory.ts';
import { launchWithWeights } from '../support/stored-weights.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { startChaosSite } from './chaos-site.ts';
import { Driver } from './driver.ts';

const minutes = Number(process.env['LOCALTEXT_SOAK_MINUTES'] ?? 30);
const seed = Number(process.env['LOCALTEXT_CHAOS_SEED'] ?? 1);

/** Caches fill in a shorter run, which says nothing of growth. */
const GROWTH_MINUTES = 10;
const MAX_GROWTH = 1.05;

test(
  `nothing is lost, grows or dies (${minutes} minutes)`,
  { timeout: 600_000 + minutes * 60_000, retry: 0 },
  async () => {
    const site = await startChaosSite();
    const profile = await tempFolder('soak');
    const context = await launchWithWeights({ profile, servedBy: site.url });
    const faults: string[] = [];
    context.on('console', (message) => {
      if (/an engine crashed|prompt cache/.test(message.text())) faults.push(message.text());
    });
    const events = ['abort', 'none', 'none', 'none'] as const;
    const driver = new Driver(context, { ...site, siteUrl: inject('siteUrl'), seed, events });
    const root = process.platform === 'linux' ? await findRoot(`--user-data-dir=${profile}`) : null;
    const thirds: number[][] = [[], [], []];
    try {
      await driver.setUp();
      const began = Date.now();
      for (let share = 0; share < 1; share = (Date.now() - began) / (minutes * 60_000)) {
        await driver.round();
        if (root !== null) thirds[Math.floor(share * 3)]?.push(await treeBytes(root));
      }
    } finally {
      const megabytes = thirds.map((samples) => Math.round(median(samples) / 1e6));
      console.log(`soak, seed ${seed}: ${JSON.stringify({ ...driver.figures, megabytes }, null, 2)}`);
    }
    expect(faults).toEqual([]);
    expect(driver.epochs.size).toBe(1);
    expect(driver.figures.requests).toBeGreaterThan(0);
    const [, second = [], last = []] = thirds;
    if (root !== null && minutes >= GROWTH_MINUTES)
      expect(median(last)).toBeLessThan(median(second) * MAX_GROWTH);
  },
);

const median = (samples: readonly number[]): number =>
  samples.toSorted((a, b) => a - b)[Math.floor(samples.length / 2)] ?? Number.NaN;
