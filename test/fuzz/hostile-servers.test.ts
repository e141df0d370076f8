import { createServer, type Server } from 'node:http';
import type { BrowserContext, Page } from 'playwright';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

import type { Catalog } from '../../src/catalog/catalog.ts';
import { Random } from '../chaos/random.ts';
import { MAX_WAIT_MS, percentile } from './outcome.ts';
import { listen } from '../support/listen.ts';
import { launch } from '../support/launch.ts';
import { openPage } from '../support/open-page.ts';
import { allowOrigins, CHAT_ANSWERS, EMBEDDING_ANSWERS, SPEECH_ANSWERS } from './hostile-answers.ts';

const answers = Number(process.env['LOCALTEXT_FUZZ_ANSWERS'] ?? 60);
const seed = Number(process.env['LOCALTEXT_FUZZ_SEED'] ?? 1);
const LANES = 4;
const BATCH = 100;
const WATCH_MS = 25;
const QUIET_MS = 3000;

let context: BrowserContext;
let page: Page;
let watchdog: Page;
let key: string;
let server: Server;
const ANSWERS: Record<string, typeof CHAT_ANSWERS> = {
  '/v1/embeddings': EMBEDDING_ANSWERS,
  '/v1/audio/transcriptions': SPEECH_ANSWERS,
};
const given: Record<string, number> = {};

beforeAll(async () => {
  const random = new Random(seed);
  server = createServer((request, response) => {
    if (allowOrigins(request, response)) return;
    request.resume().on('end', () => {
      if (request.url === '/v1/models') return void response.end('{"data":[]}');
      const [name, answer] = random.pick(Object.entries(ANSWERS[request.url ?? ''] ?? CHAT_ANSWERS));
      given[name] = (given[name] ?? 0) + 1;
      answer(response, random);
    });
  });
  const baseUrl = `${await listen(server)}/v1`;
  const common = {
    engine: 'upstream' as const,
    license: 'MIT',
    contextLength: 4096,
    files: [],
    baseUrl,
    model: 'm',
  };
  const catalog: Catalog = {
    ownedBy: 'test',
    models: [
      { id: 'chat', kind: 'chat', created: 1, variants: [{ ...common, name: 'hostile', firstTokenMs: 500 }] },
      {
        id: 'vectors',
        kind: 'embedding',
        created: 1,
        variants: [{ ...common, name: 'hostile-too', dimensions: 2 }],
      },
      {
        id: 'speech',
        kind: 'transcription',
        created: 1,
        variants: [{ ...common, name: 'hostile-also' }],
      },
    ],
  };
  context = await launch();
  const options = encodeURIComponent(JSON.stringify({ catalog }));
  ({ page } = await openPage(context, inject('siteUrl'), `/test-page.html?options=${options}`));
  ({ page: watchdog } = await openPage(context, inject('siteUrl'), `/test-page.html?options=${options}`));
  const limits = { requestsPerMinute: 1_000_000, tokensPerMinute: 1_000_000_000 };
  key = await page.evaluate(
    async (wide) => (await (await window.localtext).keys.issue({ label: 'hostile', limits: wide })).key,
    limits,
  );
});

afterAll(async () => {
  await context.close();
  server.closeAllConnections();
  server.close();
});

interface Ending {
  status: number;
  /** Code of the error, also of one in a stream. */
  code: string | null;
  ms: number;
}

const send = (count: number, from: number): Promise<Ending[]> =>
  page.evaluate(
    async ([apiKey, amount, first, lanes]) => {
      const ask = async (index: number): Promise<Ending> => {
        const began = performance.now();
        const isStream = index % 8 > 3;
        const form = new FormData();
        const fields = { model: 'speech', file: new File(['RIFF'], 'a.wav'), stream: String(isStream) };
        for (const [name, value] of Object.entries(fields)) form.set(name, value);
        if (!isStream) form.set('response_format', 'verbose_json');
        const chat = { model: 'chat', messages: [{ role: 'user', content: 'hi' }], stream: isStream };
        const [path, body] = [
          ['/embeddings', JSON.stringify({ model: 'vectors', input: 'hi' })] as const,
          ['/audio/transcriptions', form] as const,
          ['/chat/completions', JSON.stringify(chat)] as const,
          ['/chat/completions', JSON.stringify(chat)] as const,
        ][index % 4] ?? ['/models', ''];
        const response = await fetch(`/v1${path}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${apiKey}` },
          body,
          signal: AbortSignal.timeout(60_000),
        });
        const text = await response.text();
        return {
          status: response.status,
          code: /"code":"?(\w+)/.exec(text)?.[1] ?? null,
          ms: performance.now() - began,
        };
      };
      const endings: Ending[] = [];
      let next = first;
      const lane = async (): Promise<void> => {
        while (next < first + amount) endings.push(await ask(next++));
      };
      await Promise.all(Array.from({ length: lanes }, lane));
      return endings;
    },
    [key, count, from, LANES] as const,
  );

/** How long the requests of another tab take until `until` has settled. */
async function watch<T>(until: Promise<T>): Promise<{ times: number[]; result: T }> {
  const watching = watchdog.evaluate(
    async ([apiKey, every]) => {
      const seen: number[] = [];
      const stop = new Promise<true>((resolve) =>
        window.addEventListener('stop', () => resolve(true), { once: true }),
      );
      for (;;) {
        const began = performance.now();
        const response = await fetch('/v1/models', { headers: { authorization: `Bearer ${apiKey}` } });
        await response.text();
        seen.push(response.ok ? performance.now() - began : Number.POSITIVE_INFINITY);
        const pause = new Promise<false>((resolve) => setTimeout(() => resolve(false), every));
        if (await Promise.race([stop, pause])) return seen;
      }
    },
    [key, WATCH_MS] as const,
  );
  const result = await until.finally(() =>
    watchdog.evaluate(() => void window.dispatchEvent(new Event('stop'))),
  );
  return { times: await watching, result };
}

test(
  `no answer of a server delays other tabs (${answers} answers, seed ${seed})`,
  { timeout: 60_000 + answers * 1000 },
  async () => {
    const quiet = await watch(new Promise((resolve) => setTimeout(resolve, QUIET_MS)));
    const sending = async (): Promise<Ending[]> => {
      const all: Ending[] = [];
      while (all.length < answers)
        all.push(...(await send(Math.min(BATCH, answers - all.length), all.length)));
      return all;
    };
    const { times, result } = await watch(sending());
    const figures = {
      given,
      requests: times.length,
      quietP99: percentile(quiet.times, 0.99),
      p99: percentile(times, 0.99),
      longest: Math.max(...times),
      slowest: Math.max(...result.map(({ ms }) => ms)),
    };
    console.log(`hostile servers, seed ${seed}: ${JSON.stringify(figures, null, 2)}`);
    const faults = result.filter(
      ({ status, code }) =>
        status === 0 || (status >= 500 && !code?.startsWith('upstream_')) || code === 'internal_error',
    );
    expect(faults).toEqual([]);
    expect(Math.max(...times)).toBeLessThan(MAX_WAIT_MS);
  },
);
