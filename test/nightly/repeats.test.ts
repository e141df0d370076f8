import type { BrowserContext, Page } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import { AlteredSite } from '../support/altered-site.ts';
import { launchWithWeights } from '../support/stored-weights.ts';
import { openPage } from '../support/open-page.ts';
import { smallChat } from '../support/small-chat.ts';
import { workerHeaps } from '../support/worker-heaps.ts';
import { ask } from '../support/ask-page.ts';

const aborts = Number(process.env['LOCALTEXT_REPEATS_ABORTS'] ?? 2000);
const loads = Number(process.env['LOCALTEXT_REPEATS_LOADS'] ?? 100);
/**
 * Repetitions before the first measurement, which fill caches and compile code: a service worker's heap grows by 280 KB in
 * 600 requests, and by 50 KB in the 2,400 after them.
 */
const ABORTS_BEFORE = 600;
const LOADS_BEFORE = 15;
/** Share of a heap after all repetitions, of that before them. */
const MAX_GROWTH = 1.05;

let site: AlteredSite;
let context: BrowserContext;
let page: Page;
let key: string;

beforeAll(async () => {
  const { catalog, serve } = await smallChat();
  site = await AlteredSite.start(inject('siteUrl'));
  serve(site);
  context = await launchWithWeights({ servedBy: site.url, extraArgs: ['--js-flags=--expose-gc'] });
  // Memory for one of the two models.
  ({ page, key } = await openPage(context, inject('siteUrl'), { catalog, limits: { memoryBytes: 1e6 } }));
  await page.evaluate(async () => void (await (await window.localtext).ready('amber-phoenix-4')));
});

/** Sends chats one after the other, and aborts each: streamed after its first bytes, by a `fetch` before its headers. */
const abortChats = (count: number): Promise<void> =>
  page.evaluate(
    async ([apiKey, chats]) => {
      const localtext = await window.localtext;
      for (let index = 0; index < chats; index++) {
        const stream = index % 2 === 0;
        const abort = new AbortController();
        const send = index % 4 < 2 ? fetch : localtext.fetch;
        const sent = send('/v1/chat/completions', {
          method: 'POST',
          headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
          body: JSON.stringify({
            model: 'amber-phoenix-4',
            messages: [{ role: 'user', content: `Say ${index}.` }],
            max_tokens: 8,
            logit_bias: { 2: -100 },
            stream,
          }),
          signal: abort.signal,
        });
        if (stream) await (await sent).body?.getReader().read();
        else await new Promise((resolve) => setTimeout(resolve, index % 16));
        abort.abort();
        await sent.catch(() => undefined);
      }
    },
    [key, count] as const,
  );

const SERVICE_WORKER = /localtext-sw\.js$/;
const ENGINE = /\/worker-[^/]+\.js$/;

/** Answers that are not streamed are computed when their clients have left; what is under way has its memory. */
async function untilFree(): Promise<void> {
  const jobs = (): Promise<number> =>
    page.evaluate(async () => {
      const { models } = await (await window.localtext).status();
      return models.reduce((sum, { running = 0, queued = 0 }) => sum + running + queued, 0);
    });
  await expect.poll(jobs, { timeout: 60_000, interval: 500 }).toBe(0);
}

interface Growth {
  worker: string;
  /** Bytes before and after. */
  before: number;
  after: number;
}

/** Heaps of the workers around `count` repetitions, after `before` others. */
async function growth(
  workers: readonly RegExp[],
  repeat: (count: number) => Promise<void>,
  { before: warmUp, count }: { before: number; count: number },
): Promise<Growth[]> {
  const heaps = async (): Promise<number[]> => {
    await untilFree();
    return Promise.all(workers.map((url) => workerHeaps(context, url)));
  };
  await repeat(warmUp);
  const before = await heaps();
  const began = performance.now();
  await repeat(count);
  const seconds = Math.round((performance.now() - began) / 1000);
  const after = await heaps();
  const grown = workers.map(({ source }, index) => ({
    worker: source,
    before: before[index] ?? Number.NaN,
    after: after[index] ?? Number.NaN,
  }));
  console.log(`${count} in ${seconds} s: ${JSON.stringify(grown)}`);
  return grown;
}

const isLarger = ({ before, after }: Growth): boolean => !(after <= before * MAX_GROWTH);

test(
  `${aborts} aborted requests do not add to the heaps of the workers`,
  { timeout: 240_000 + aborts * 400 },
  async () => {
    await ask(page, key, 'amber-phoenix-4', 'Say hello.', { max_tokens: 30 });
    const grown = await growth([SERVICE_WORKER, ENGINE], abortChats, {
      before: ABORTS_BEFORE,
      count: aborts,
    });
    expect(grown.filter(isLarger)).toEqual([]);
    expect(grown.filter(({ before, after }) => after - before > aborts * 2000)).toEqual([]);
  },
);

test(
  `${loads} models that are loaded in turn do not add to the heap of the engine`,
  { timeout: 240_000 + loads * 8000 },
  async () => {
    const load = (count: number): Promise<void> =>
      page.evaluate(
        async (turns) => {
          const localtext = await window.localtext;
          for (let turn = 0; turn < turns; turn++)
            for (const model of ['jade-mole-4', 'amber-phoenix-4']) await localtext.ready(model);
        },
        Math.ceil(count / 2),
      );
    const grown = await growth([ENGINE], load, { before: LOADS_BEFORE, count: loads });
    expect(grown.filter(isLarger)).toEqual([]);
  },
);
