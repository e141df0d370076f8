import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';

import { counting } from '../browser/lifetime/support/site-of-tabs.ts';
import { AlteredSite } from '../support/altered-site.ts';
import { firstLayers } from '../support/first-layers.ts';
import { selectedBrowsers } from './support/browsers.ts';
import type { Browser } from './support/driver.ts';
import { SiteTab } from './support/site-tab.ts';
import { dot } from '../support/ask-page.ts';
import { GGUF } from '../support/smollm2.ts';

const CHAT = 'amber-phoenix-4';
const EMBEDDING = 'jade-mole-4';
const TEXTS = ['The weather is lovely today.', "It's so sunny outside!", 'He drove to the stadium.'];
/** Any GGUF will do: the beginning of the site's own. */
const OWN_PATH = '/mine.gguf';
/** Their similarities, as the model's authors publish them. Weights in 8 bits differ by at most 0.005. */
const PUBLISHED = [0.666, 0.1046, 0.1411];

/** Results of the first browser; the others are compared with them. */
let firstText: string | null = null;
let firstVectors: number[][] | null = null;
let firstShares: number[] | null = null;

describe.each(selectedBrowsers())('$name', ({ name, launch }) => {
  let browser: Browser;
  let site: AlteredSite;
  let tab: SiteTab;

  beforeAll(async () => {
    // Not isolated: one thread in every browser, so that the results can be compared.
    browser = await launch({ computesLittle: true });
    site = await AlteredSite.start(inject('siteUrl'));
    tab = await SiteTab.open(browser, site.url, {});
  });
  afterAll(() => browser?.close());

  test('chat: the same 16 tokens through the OpenAI SDK', async () => {
    await tab.ready(CHAT);
    const asked = counting({ max_tokens: 16 });
    const [run, other] = await Promise.all([tab.run(asked, 120_000), tab.run(asked, 120_000)]);
    expect(await tab.fingerprint(CHAT)).toMatch(/-wllama-k[0-9a-f]{8}-wasm-1t$/);
    expect(run).toMatchObject({ finish: { 0: 'length' }, usage: { completion_tokens: 16 }, error: null });
    const text = run?.text[0] ?? '';
    expect(text).toMatch(/\w/);
    firstText ??= text;
    expect(text).toBe(firstText);
    expect(other?.text[0]).toBe(text);
    // Both come as they are computed, in turn: neither waits for the end of the other.
    const tokenAt = (of: typeof run, index: number): number => of?.deltaTimes[index] ?? NaN;
    expect(tokenAt(run, 8)).toBeLessThan(tokenAt(other, 14));
    expect(tokenAt(other, 8)).toBeLessThan(tokenAt(run, 14));
    const compat = site.asked.filter((path) => path.includes('wllama-compat'));
    expect(compat.length > 0).toBe(name === 'webkit');
  });

  test('embeddings: the same vectors', async () => {
    await tab.ready(EMBEDDING);
    const vectors = await tab.embed(TEXTS);
    firstVectors ??= vectors;
    const reference = firstVectors;
    const furthest = Math.max(
      ...vectors.flatMap((vector, at) =>
        vector.map((value, index) => Math.abs(value - (reference[at]?.[index] ?? NaN))),
      ),
    );
    expect(furthest).toBeLessThan(1e-4);
    const [a = [], b = [], c = []] = vectors;
    for (const [index, similarity] of [dot(a, b), dot(a, c), dot(b, c)].entries())
      expect(Math.abs(similarity - (PUBLISHED[index] ?? NaN))).toBeLessThan(0.01);
  });

  test('decisions: the same probabilities of labels of one token and of several, by both models', async () => {
    const choices = ['English', 'German', 'Brazilian Portuguese', 'Übersetzung', '客服'].map((value) => ({
      value,
    }));
    const questions = [{ type: 'choice', instructions: 'In which language is this text written?', choices }];
    const input = 'Die Kinder spielen im Garten hinter dem Haus.';
    const shares: number[] = [];
    for (const model of [CHAT, EMBEDDING]) {
      const [found = []] = await tab.decide({ model, input, questions });
      expect(found.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 5);
      shares.push(...found);
    }
    firstShares ??= shares;
    for (const [index, share] of shares.entries()) expect(share).toBeCloseTo(firstShares[index] ?? NaN, 2);
  });

  test('after a reload both answer, and nothing is downloaded again', async () => {
    const downloads = (): string[] =>
      site.asked.filter((path) => /\.(gguf|safetensors|onnx_data)\b/.test(path));
    const before = downloads();
    expect(before).not.toEqual([]);
    await tab.reload();
    expect(await tab.run(counting({ max_tokens: 8 }), 120_000)).toMatchObject({ finish: { 0: 'length' } });
    expect(await tab.embed(TEXTS)).toHaveLength(TEXTS.length);
    expect(downloads()).toEqual(before);
  });

  test('exported weights are taken again after they were deleted, from a tab that does not lead', async () => {
    const downloads = site.asked.length;
    const other = await SiteTab.open(browser, site.url, {});
    try {
      expect(await other.reimport(EMBEDDING)).toHaveLength(1);
      expect(await other.embed(TEXTS)).toHaveLength(TEXTS.length);
      expect(site.asked.slice(downloads).filter((path) => /\.(safetensors|onnx_data)\b/.test(path))).toEqual(
        [],
      );
    } finally {
      await other.close();
    }
  });

  test('a GGUF file of the user chats, also after a reload, until it is removed', async () => {
    const gguf = await firstLayers(GGUF, 2);
    site.serve(OWN_PATH, gguf);
    // A first try that failed may have left it.
    await tab.removeModel('mine').catch(() => undefined);
    expect(await tab.addModel(OWN_PATH, 'mine')).toMatchObject({
      id: 'mine',
      architecture: 'llama',
      bytes: gguf.length,
    });
    const ask = { ...counting({ max_tokens: 6 }), model: 'mine' };
    const first = await tab.run(ask, 120_000);
    expect(first).toMatchObject({ usage: { completion_tokens: 6 }, error: null });
    await tab.reload();
    expect((await tab.run(ask, 120_000))?.text).toEqual(first?.text);
    await tab.removeModel('mine');
    expect(await tab.run(ask)).toMatchObject({ error: { status: 404 } });
    expect(await tab.storedVariants()).not.toContainEqual(expect.stringMatching(/^added/));
  });
});
