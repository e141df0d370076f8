import type { BrowserContext, Page } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import { launch } from '../support/launch.ts';
import { openPage } from '../support/open-page.ts';
import { dataUrl, drawn, GIF, PICTURES } from '../support/vision/pictures.ts';
import { VISION_MODEL, visionModel } from '../support/vision/vision-site.ts';
import { hostileParts } from './hostile-parts.ts';
import { judge, type Outcome } from './outcome.ts';

/** Content parts of messages to a model that sees: in Node they are made, the page sends them. */

const parts = Number(process.env['LOCALTEXT_FUZZ_PARTS'] ?? 100);
const seed = Number(process.env['LOCALTEXT_FUZZ_SEED'] ?? 1);
const BATCH = 50;
const PATH = '/v1/chat/completions';

let model: Awaited<ReturnType<typeof visionModel>>;
let context: BrowserContext;
let page: Page;
let key: string;

beforeAll(async () => {
  [model, context] = await Promise.all([visionModel(), launch()]);
  const options = encodeURIComponent(JSON.stringify({ catalog: model.catalog }));
  ({ page } = await openPage(context, inject('siteUrl'), `/test-page.html?options=${options}`));
  key = await page.evaluate(async () => {
    const limits = { requestsPerMinute: 1e6, tokensPerMinute: 1e9 };
    return (await (await window.localtext).keys.issue({ label: 'fuzz', limits })).key;
  });
});

/** Two at a time. */
const send = (bodies: object[], first: number): Promise<Outcome[]> =>
  page.evaluate(
    async ([secret, path, texts, from]) => {
      const outcomes: Outcome[] = [];
      const ask = async (text: string, index: number): Promise<Outcome> => {
        const began = performance.now();
        const base = { index, kind: 'parts', method: 'POST', path };
        const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
        try {
          const signal = AbortSignal.timeout(60_000);
          const response = await fetch(path, { method: 'POST', headers, body: text, signal });
          const { status } = response;
          const answer = await response.text();
          const ms = performance.now() - began;
          const last = answer.startsWith('{') ? answer : (/\{"error":.*\}/.exec(answer)?.[0] ?? '{}');
          const { error } = JSON.parse(last) as { error?: { code: string | null; message: string } };
          const fault = status >= 400 && !error?.message ? `an error without a message: ${answer}` : null;
          return { ...base, status, code: error?.code ?? null, fault, ms };
        } catch (error) {
          return { ...base, status: 0, code: null, fault: String(error), ms: performance.now() - began };
        }
      };
      const waiting = texts.map((text, at) => () => ask(text, from + at));
      const lane = async (): Promise<void> => {
        for (let next = waiting.shift(); next; next = waiting.shift()) outcomes.push(await next());
      };
      await Promise.all([lane(), lane()]);
      return outcomes;
    },
    [key, PATH, bodies.map((body) => JSON.stringify({ model: VISION_MODEL, ...body })), first] as const,
  );

test(
  `no content part breaks the service (${parts} messages, seed ${seed})`,
  { timeout: 120_000 + parts * 1000, retry: 0 },
  async () => {
    const [picture = GIF] = PICTURES;
    const sane = {
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: dataUrl(picture) } }] }],
      max_tokens: 8,
    };
    const reply = () =>
      page.evaluate(
        async ([secret, path, body]) => {
          const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
          const response = await fetch(path, { method: 'POST', headers, body });
          const { choices } = (await response.json()) as { choices: { message: { content: string } }[] };
          return choices[0]?.message.content;
        },
        [key, PATH, JSON.stringify({ model: VISION_MODEL, temperature: 0, ...sane })] as const,
      );
    const before = await reply();
    expect(before).toMatch(/^[a-z]{8}$/);
    const images = [...PICTURES, GIF, ...(await drawn(page, ['image/jpeg', 'image/webp']))];
    const outcomes: Outcome[] = [];
    for (let at = 0; at < parts; at += BATCH) {
      const count = Math.min(BATCH, parts - at);
      const bodies = Array.from({ length: count }, (_, index) => hostileParts(seed, at + index, images));
      outcomes.push(...(await send(bodies, at)));
      // A run that is cut short tells how far it came.
      if (outcomes.length % 500 === 0) console.log(`${outcomes.length} of ${parts} messages`);
    }
    const statuses: Record<number, number> = {};
    for (const { status } of outcomes) statuses[status] = (statuses[status] ?? 0) + 1;
    const slowest = Math.round(Math.max(...outcomes.map(({ ms }) => ms)));
    console.log(`${parts} messages, seed ${seed}: ${JSON.stringify(statuses)}, the slowest ${slowest} ms`);
    const faults = outcomes.flatMap((outcome) => {
      const why = judge(outcome);
      return why === null ? [] : [`seed ${seed}, message ${outcome.index}: ${why}`];
    });
    expect(faults).toEqual([]);
    expect(await reply()).toBe(before);
  },
);
