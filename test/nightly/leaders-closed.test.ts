import type { BrowserContext, Page } from 'playwright';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

import { AlteredSite } from '../support/altered-site.ts';
import { launchWithWeights } from '../support/stored-weights.ts';
import { openPage, type StartedPage } from '../support/open-page.ts';
import { smallChat } from '../support/small-chat.ts';

const STREAMS = 30;
const EMBEDDINGS = 200;
const TOKENS = 60;
const LEADERS = 3;

declare global {
  interface Window {
    asked: { deltas: number; answered: number; endings: Promise<Ending[]> };
  }
}

interface Ending {
  kind: 'chat' | 'embedding';
  index: number;
  status: number;
  /** Reason why a stream ended; null for an embedding. */
  finish: string | null;
  /** Code of the error, also of one in a stream. */
  code: string | null;
  text: string;
  vector: number[];
}

let site: AlteredSite;
let context: BrowserContext;
let tabs: StartedPage[];

beforeAll(async () => {
  const { catalog, serve } = await smallChat();
  site = await AlteredSite.start(inject('siteUrl'));
  serve(site);
  context = await launchWithWeights({ servedBy: site.url });
  const options = encodeURIComponent(JSON.stringify({ catalog }));
  tabs = [];
  // They lead in the order in which they were opened.
  while (tabs.length < LEADERS + 2)
    tabs.push(await openPage(context, inject('siteUrl'), `/test-page.html#options=${options}`));
  await tabs[0]?.page.evaluate(async () => {
    for (const model of ['amber-phoenix-4', 'jade-mole-4']) await (await window.localtext).ready(model);
  });
});
afterAll(async () => {
  await context.close();
  await site.stop();
});

/** Begins every second request. */
const begin = ({ page, key }: StartedPage, half: number): Promise<void> =>
  page.evaluate(
    ([apiKey, first, streams, embeddings, tokens]) => {
      const post = (path: string, body: object): Promise<Response> =>
        fetch(`/v1${path}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${apiKey}` },
          body: JSON.stringify(body),
        });
      const chat = async (index: number): Promise<Ending> => {
        const response = await post('/chat/completions', {
          model: 'amber-phoenix-4',
          messages: [{ role: 'user', content: `Tell me of number ${index}.` }],
          max_tokens: tokens,
          temperature: 0,
          stream: true,
        });
        let raw = '';
        const decoder = new TextDecoder();
        const reader = response.body?.getReader();
        for (;;) {
          const { done, value } = (await reader?.read()) ?? { done: true };
          raw += decoder.decode(value, { stream: !done });
          if (done) break;
          window.asked.deltas++;
        }
        const texts = [...raw.matchAll(/"content":("(?:[^"\\]|\\.)*")/g)].map(
          ([, json = '""']) => JSON.parse(json) as string,
        );
        return {
          kind: 'chat',
          index,
          status: response.status,
          finish: /"finish_reason":"(\w+)"/.exec(raw)?.[1] ?? null,
          code: /"code":"(\w+)"/.exec(raw)?.[1] ?? null,
          text: texts.join(''),
          vector: [],
        };
      };
      const embed = async (index: number): Promise<Ending> => {
        const response = await post('/embeddings', {
          model: 'jade-mole-4',
          input: `A text of number ${index}.`,
        });
        const answer = (await response.json()) as {
          data?: { embedding: number[] }[];
          error?: { code: string };
        };
        window.asked.answered++;
        const vector = answer.data?.[0]?.embedding ?? [];
        return {
          kind: 'embedding',
          index,
          status: response.status,
          finish: null,
          code: answer.error?.code ?? null,
          text: '',
          vector,
        };
      };
      const every = (count: number): number[] =>
        Array.from({ length: count }, (_, index) => index).filter((index) => index % 2 === first);
      window.asked = { deltas: 0, answered: 0, endings: Promise.resolve([]) };
      window.asked.endings = Promise.all([...every(streams).map(chat), ...every(embeddings).map(embed)]);
    },
    [key, half, STREAMS, EMBEDDINGS, TOKENS] as const,
  );

const come = (page: Page): Promise<number> =>
  page.evaluate(() => window.asked.deltas + window.asked.answered);

test(
  `${STREAMS} streams and ${EMBEDDINGS} embeddings are whole, though the leading tab is closed ${LEADERS} times`,
  { timeout: 600_000 },
  async () => {
    const askers = tabs.slice(LEADERS);
    await Promise.all(askers.map((tab, half) => begin(tab, half)));
    const all = async (): Promise<number> =>
      (await Promise.all(askers.map(({ page }) => come(page)))).reduce((sum, count) => sum + count, 0);
    for (const [at, { page }] of tabs.slice(0, LEADERS).entries()) {
      const until = (await all()) + 150;
      await expect.poll(all, { timeout: 180_000, interval: 100 }).toBeGreaterThan(until);
      console.log(`tab ${at} is closed after ${await all()} pieces`);
      await page.close();
    }
    const endings = (
      await Promise.all(askers.map(({ page }) => page.evaluate(() => window.asked.endings)))
    ).flat();
    expect(endings).toHaveLength(STREAMS + EMBEDDINGS);
    const broken = endings.filter(({ status, code }) => status !== 200 || code !== null);
    expect(broken).toEqual([]);
    const chats = endings.filter(({ kind }) => kind === 'chat');
    expect(chats.filter(({ finish, text }) => finish === null || text === '')).toEqual([]);
    const vectors = endings.filter(({ kind }) => kind === 'embedding');
    expect(vectors.filter(({ vector }) => Math.abs(Math.hypot(...vector) - 1) > 1e-3)).toEqual([]);

    // Under the same conditions, but for the tabs that were closed: rounding may differ (docs/compatibility.md).
    await Promise.all(askers.map((tab, half) => begin(tab, half)));
    const again = (
      await Promise.all(askers.map(({ page }) => page.evaluate(() => window.asked.endings)))
    ).flat();
    const equal = chats.filter((chat) =>
      again.some(({ kind, index, text }) => kind === 'chat' && index === chat.index && text === chat.text),
    );
    console.log(`${equal.length} of ${STREAMS} texts are as without a closed tab`);
    const near = vectors.filter((one) => {
      const other = again.find(({ kind, index }) => kind === 'embedding' && index === one.index);
      return one.vector.reduce((sum, value, at) => sum + value * (other?.vector[at] ?? 0), 0) > 0.9999;
    });
    expect(near).toHaveLength(EMBEDDINGS);
  },
);
