import type { BrowserContext, Page } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import { launchWithWeights } from '../support/stored-weights.ts';
import { review, type Outcome } from './outcome.ts';
import { seed } from './seed.ts';

const requests = Number(process.env['LOCALTEXT_FUZZ_REQUESTS'] ?? 100);
const only = process.env['LOCALTEXT_FUZZ_ONLY'];
const onlyKind = process.env['LOCALTEXT_FUZZ_KIND'];

const LANES = 4;
const BATCH = 100;
const WATCH_MS = 250;
/** Limit for requests of another tab. Only `npm run test:fuzz`, which runs alone, sets one. */
const maxWaitMs = Number(process.env['LOCALTEXT_FUZZ_MAX_WAIT_MS'] ?? Number.POSITIVE_INFINITY);

let context: BrowserContext;
let page: Page;
let watchdog: Page;

beforeAll(async () => {
  context = await launchWithWeights();
  const url = `${inject('siteUrl')}/fuzz-page.html`;
  page = await context.newPage();
  await page.goto(url);
  watchdog = await context.newPage();
  await watchdog.goto(url);
});

/** How long the requests of another tab take until `until` resolves, in milliseconds. */
async function watch(key: string, until: Promise<unknown>): Promise<number[]> {
  const times = watchdog.evaluate(([apiKey, every]) => window.fuzz.watch(apiKey, every), [
    key,
    WATCH_MS,
  ] as const);
  await until.catch(() => undefined);
  await watchdog.evaluate(() => void (window.fuzz.stop = true));
  return times;
}

const chosen = only === undefined ? Array.from({ length: requests }, (_, index) => index) : [Number(only)];

async function sendAll(key: string): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (let at = 0; at < chosen.length; at += BATCH) {
    const batch = chosen.slice(at, at + BATCH);
    const args = [key, seed, batch, LANES, onlyKind] as const;
    outcomes.push(...(await page.evaluate((given) => window.fuzz.run(...given), args)));
    if (outcomes.length % 1000 === 0) console.log(`${outcomes.length} requests`);
  }
  return outcomes;
}

test(
  `no request breaks the service (${chosen.length} requests, seed ${seed})`,
  { timeout: 180_000 + requests * 2000, retry: 0 },
  async () => {
    const key = await page.evaluate(() => window.fuzz.setUp());
    const epoch = await page.evaluate(() => window.fuzz.epoch());
    const sending = sendAll(key);
    const delays = await watch(key, sending);
    const outcomes = await sending;

    const { faults } = review('requests', seed, outcomes);
    console.log(`another tab: ${delays.length} requests, ${Math.round(Math.max(...delays))} ms at most`);
    expect(faults).toEqual([]);
    expect(await page.evaluate(() => window.fuzz.epoch()), 'the engine was started again').toBe(epoch);
    expect(delays.length).toBeGreaterThan(0);
    expect(Math.max(...delays)).toBeLessThan(maxWaitMs);
  },
);
