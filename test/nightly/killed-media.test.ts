import type { ServerResponse } from 'node:http';
import type { BrowserContext } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import { extendCatalog } from '../../src/catalog/parse-catalog.ts';
import { voices } from '../../src/catalog/voice-models.ts';
import type { Body, Run } from '../browser/lifetime/site/run.ts';
import { crash } from '../browser/lifetime/support/kill.ts';
import { counting } from '../browser/lifetime/support/site-of-tabs.ts';
import { Tab } from '../browser/lifetime/support/tab.ts';
import { startChaosSite, type ChaosSite } from '../chaos/chaos-site.ts';
import { launchWithWeights } from '../support/stored-weights.ts';
import { dataUrl, PICTURES, png } from '../support/vision/pictures.ts';
import { VISION_MODEL } from '../support/vision/vision-site.ts';

/** The leading tab dies, or the storage fills, while its engine fetches, decodes or computes pictures, or hears a file. */

const rounds = Number(process.env['LOCALTEXT_KILLED_MEDIA'] ?? 3);
const ENDED_MS = 120_000;
const SLOW = '/slow.png';
const [picture = Buffer.alloc(0)] = PICTURES;

let site: ChaosSite;
let context: BrowserContext;
/** Answers to `SLOW` that wait for their end; null: it is sent at once. */
let waiting: ServerResponse[] | null = null;

beforeAll(async () => {
  site = await startChaosSite();
  site.handlers.set(SLOW, (_, response) => {
    response.setHeader('content-type', 'image/png');
    if (!waiting) return void response.end(picture);
    response.write(picture.subarray(0, 20));
    waiting.push(response);
  });
  context = await launchWithWeights({ servedBy: site.url });
});

const about = (...urls: string[]): Body => ({
  model: VISION_MODEL,
  messages: [{ role: 'user', content: urls.map((url) => ({ type: 'image_url', image_url: { url } })) }],
  temperature: 0,
  max_tokens: 8,
});
const large = png(2000, 2000, (x, y) => [x & 255, y & 255, 0]);

const REQUESTS: Record<string, () => Body> = {
  'a picture that is fetched': () => about(SLOW),
  'pictures that are decoded': () => about(...Array.from({ length: 3 }, () => dataUrl(large))),
  'pictures that are computed': () => about(...PICTURES.slice(2).map((file) => dataUrl(file))),
  'a transcription': () => ({ clip: site.clip, model: 'coral-wren-4' }),
};

const open = (): Promise<Tab> => Tab.open(context, inject('siteUrl'), { catalog: site.catalog });

const essence = ({ text, error }: Run) => ({ text, error });

test.each(Object.keys(REQUESTS))(
  'the next tab answers when the leading one dies with %s',
  { timeout: 180_000 + rounds * 240_000 },
  async (name) => {
    const body = REQUESTS[name]?.() ?? {};
    let leader = await open();
    const reference = await leader.run(body, ENDED_MS);
    expect(reference.error).toBeNull();
    const endings: Record<string, number> = {};
    for (let round = 0; round < rounds; round++) {
      const next = await open();
      waiting = [];
      const begun = await next.begin(body);
      if (name.endsWith('fetched')) await expect.poll(() => waiting?.length, { timeout: 60_000 }).toBe(1);
      await new Promise((resolve) => setTimeout(resolve, 100 + round * 200));
      await crash(leader.page);
      waiting = null;
      await leader.page.close();
      // Tabs of one site may share a process.
      const run = next.crashed ? null : await next.ended(begun, ENDED_MS);
      const fault = run?.error && (run.error.code ?? `status ${run.error.status}`);
      const ending = run === null ? 'gone with its tab' : (fault ?? 'answered');
      endings[ending] = (endings[ending] ?? 0) + 1;
      // The service worker may share the process, too: its client then sees a broken connection.
      if (fault) expect(fault).toMatch(/^engine_|^model_|^status null$/);
      else if (run) expect(essence(run)).toEqual(essence(reference));
      leader = next.crashed ? await open() : next;
      expect(essence(await leader.run(body, ENDED_MS))).toEqual(essence(reference));
      const chat = await leader.run(counting({ max_tokens: 4 }), ENDED_MS);
      expect(chat.error).toBeNull();
      const { held, pending } = await leader.locks();
      expect([...held, ...pending].filter((lock) => /^localtext:request:(?!status-)/.test(lock))).toEqual([]);
    }
    console.log(`${name}: ${JSON.stringify(endings)}`);
    await leader.page.close();
  },
);

/** Bytes of a text that is spoken, or the status of the answer. */
const speak = (tab: Tab): Promise<number> =>
  tab.page.evaluate(async (key) => {
    const response = await fetch('/v1/audio/speech', {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'silver-lark-4',
        input: 'The sea is wide. A small boat goes far. '.repeat(4),
        response_format: 'pcm',
      }),
    });
    return response.ok ? (await response.arrayBuffer()).byteLength : response.status;
  }, tab.key);

test(
  'requests that are in flight while the storage fills are answered, and so are those after them',
  { timeout: 600_000 },
  async () => {
    const tab = await Tab.open(context, inject('siteUrl'), { catalog: extendCatalog(site.catalog, voices) });
    const names = Object.keys(REQUESTS);
    const answers = async (): Promise<unknown[]> => {
      const runs = [];
      for (const name of names) runs.push(essence(await tab.run(REQUESTS[name]?.() ?? {}, ENDED_MS)));
      return [...runs, await speak(tab)];
    };
    const expected = await answers();
    expect(expected.at(-1)).toBeGreaterThan(24_000);
    const session = await context.newCDPSession(tab.page);
    const origin = inject('siteUrl');
    waiting = [];
    const begun = [];
    for (const name of names) begun.push(await tab.begin(REQUESTS[name]?.() ?? {}));
    const speech = speak(tab);
    await expect.poll(() => waiting?.length, { timeout: 60_000 }).toBe(1);
    await session.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: 1 });
    for (const response of waiting) response.end(picture.subarray(20));
    waiting = null;
    const found = [];
    for (const run of begun) found.push(essence(await tab.ended(run, ENDED_MS)));
    expect([...found, await speech]).toEqual(expected);
    expect(await answers()).toEqual(expected);
    await session.send('Storage.overrideQuotaForOrigin', { origin });
    await tab.page.close();
  },
);
