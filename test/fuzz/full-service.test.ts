import type { BrowserContext, Page } from 'playwright';
import { afterAll, beforeAll, expect, test, inject } from 'vitest';

import { launchWithWeights } from '../support/stored-weights.ts';
import { judge, percentile, type Outcome } from './outcome.ts';

/** A tenth of the other hostile requests: each batch runs beside as many streams as a key may have. */
const requests = Math.max(100, Math.round(Number(process.env['LOCALTEXT_FUZZ_REQUESTS'] ?? 1000) / 10));
const seed = Number(process.env['LOCALTEXT_FUZZ_SEED'] ?? 1);

/** A key's default. Four of them are computed at once, and the others wait. */
const IN_FLIGHT = 64;
const LANES = 4;
const BATCH = 50;
const WATCH_MS = 100;
const QUIET_MS = 3000;
/** Limit beyond the delay while nothing runs. Here the engine's threads keep all processors, too. */
const MAX_DELAY_MS = 1000;

let context: BrowserContext;
let page: Page;
let filler: Page;
let watchdog: Page;

beforeAll(async () => {
  context = await launchWithWeights();
  const open = async (): Promise<Page> => {
    const opened = await context.newPage();
    await opened.goto(`${inject('siteUrl')}/fuzz-page.html`);
    return opened;
  };
  [page, filler, watchdog] = [await open(), await open(), await open()];
});
afterAll(() => context.close());

/** How long the requests of another tab take until `until` resolves, in milliseconds. */
async function watch(key: string, until: Promise<unknown>): Promise<number[]> {
  const args = [key, WATCH_MS] as const;
  const times = watchdog.evaluate(([apiKey, every]) => window.fuzz.watch(apiKey, every), args);
  await until.catch(() => undefined);
  await watchdog.evaluate(() => void (window.fuzz.stop = true));
  return times;
}

async function sendAll(key: string): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (let at = 0; at < requests; at += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, requests - at) }, (_, index) => at + index);
    const args = [key, seed, batch, LANES] as const;
    outcomes.push(
      ...(await page.evaluate(
        ([apiKey, from, indices, lanes]) => window.fuzz.run(apiKey, from, indices, lanes),
        args,
      )),
    );
  }
  return outcomes;
}

test(
  `with ${IN_FLIGHT} requests in flight, hostile ones do not delay other tabs (${requests} requests, seed ${seed})`,
  { timeout: 300_000 + requests * 5000 },
  async () => {
    await page.evaluate(() => window.fuzz.setUp());
    const key = await page.evaluate((limit) => window.fuzz.issue(limit), IN_FLIGHT);
    const quiet = await watch(key, new Promise((resolve) => setTimeout(resolve, QUIET_MS)));
    await filler.evaluate(([apiKey, count]) => window.fuzz.fill(apiKey, count), [key, IN_FLIGHT] as const);
    const full = await watch(key, new Promise((resolve) => setTimeout(resolve, QUIET_MS)));
    const sending = sendAll(key);
    const delays = await watch(key, sending);
    const outcomes = await sending;
    await filler.evaluate(() => window.fuzz.drain());

    const refused = outcomes.filter(({ status }) => status === 429).length;
    const p99 = percentile(delays, 0.99);
    const quietP99 = percentile(quiet, 0.99);
    const round = (times: number[]): number => Math.round(percentile(times, 0.99));
    console.log(
      `${IN_FLIGHT} in flight, ${requests} hostile requests, ${refused} refused with 429: GET /v1/models of another tab, p99 of ${delays.length}: ${round(delays)} ms (${round(full)} ms without hostile requests, ${round(quiet)} ms while nothing ran), longest ${Math.round(Math.max(...delays))} ms`,
    );
    const faults = outcomes.flatMap((outcome) => {
      const why = judge(outcome);
      const { index, kind, method, path } = outcome;
      return why === null ? [] : [`--seed ${seed}, request ${index}: ${kind}, ${method} ${path}: ${why}`];
    });
    expect(faults).toEqual([]);
    // The limit held: no chat got in beside the streams.
    expect(refused).toBeGreaterThan(requests / 20);
    expect(p99).toBeLessThan(MAX_DELAY_MS + quietP99);
    // And is given back.
    await expect
      .poll(() => filler.evaluate((apiKey) => window.fuzz.fits(apiKey), key), { timeout: 60_000 })
      .toBe(true);
  },
);
