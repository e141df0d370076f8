import type { BrowserContext, Page } from 'playwright';
import { beforeAll, beforeEach, expect, inject, test } from 'vitest';

import { PROTOCOL_VERSION } from '../../src/protocol/version.ts';
import { AlteredSite } from '../support/altered-site.ts';
import { launchWithWeights } from '../support/stored-weights.ts';
import { openPage, type StartedPage } from '../support/open-page.ts';
import { smallChat } from '../support/small-chat.ts';

/**
 * What happens around the service while it answers: what the site has stored is cleared or deleted, or a frame meddles.
 */

const STREAMS = 4;
const TOKENS = 80;
const LANES = 4;
const CHAT = 'amber-phoenix-4';
const EMBEDDING = 'jade-mole-4';

declare global {
  interface Window {
    load: { deltas: number; answered: number; stop: boolean; endings: Promise<Ending[]> };
  }
}

interface Ending {
  kind: string;
  /** 0: the connection broke before the headers. */
  status: number;
  /** Code of the error, also of one in a stream. */
  code: string | null;
  /** Reason why a stream ended; null when it was cut off. */
  finish: string | null;
  ms: number;
}

let site: AlteredSite;
let context: BrowserContext;
let leader: StartedPage;
let asker: StartedPage;
let path: string;
let ids: string[];

beforeAll(async () => {
  const { catalog, serve } = await smallChat();
  // Unlike the default one, so that a lost catalog shows.
  const models = catalog.models.map((model) => ({ ...model, created: 7 }));
  ids = models.map(({ id }) => id);
  site = await AlteredSite.start(inject('siteUrl'));
  serve(site);
  context = await launchWithWeights({ servedBy: site.url });
  path = `/test-page.html#options=${encodeURIComponent(JSON.stringify({ catalog: { ownedBy: 'rig', models } }))}`;
});
beforeEach(async () => {
  await Promise.all(context.pages().map((page) => page.close()));
  leader = await openPage(context, inject('siteUrl'), path);
  asker = await openPage(context, inject('siteUrl'), path);
  await leader.page.evaluate(
    async (models) => {
      for (const model of models) await (await window.localtext).ready(model);
    },
    [CHAT, EMBEDDING],
  );
});

/** Begins long streams, and lanes of short requests that go on until `stop`. */
const begin = ({ page, key }: StartedPage): Promise<void> =>
  page.evaluate(
    ([apiKey, chat, embedding, streams, lanes, tokens]) => {
      const post = (to: string, body: object): Promise<Response> =>
        fetch(`/v1${to}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${apiKey}` },
          body: JSON.stringify(body),
          signal: AbortSignal.timeout(120_000),
        });
      const messages = [{ role: 'user', content: 'Count.' }];
      const kinds: Record<string, () => Promise<Response>> = {
        models: () => fetch('/v1/models', { headers: { authorization: `Bearer ${apiKey}` } }),
        chat: () => post('/chat/completions', { model: chat, messages, max_tokens: 2, temperature: 0 }),
        embedding: () => post('/embeddings', { model: embedding, input: 'A text.' }),
        response: () => post('/responses', { model: chat, input: 'Count.', max_output_tokens: 2 }),
      };
      const ended = async (kind: string, ask: () => Promise<Response>): Promise<Ending> => {
        const began = performance.now();
        let status = 0;
        let text = '';
        try {
          const response = await ask();
          ({ status } = response);
          const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
          for (;;) {
            const { done, value = '' } = (await reader?.read()) ?? { done: true };
            if (done) break;
            text += value;
            window.load.deltas++;
          }
        } catch {
          // The connection broke: what came shows where.
        }
        window.load.answered++;
        return {
          kind,
          status,
          code: /"code":"(\w+)"/.exec(text)?.[1] ?? null,
          finish: /"finish_reason":"(\w+)"/.exec(text)?.[1] ?? null,
          ms: performance.now() - began,
        };
      };
      const stream = (): Promise<Ending> =>
        ended('stream', () =>
          post('/chat/completions', {
            model: chat,
            messages,
            max_tokens: tokens,
            temperature: 0,
            stream: true,
          }),
        );
      const endings: Ending[] = [];
      const lane = async (first: number): Promise<void> => {
        for (let at = first; !window.load.stop; at++) {
          const [kind = '', ask] = Object.entries(kinds)[at % 4] ?? [];
          if (ask) endings.push(await ended(kind, ask));
        }
      };
      window.load = { deltas: 0, answered: 0, stop: false, endings: Promise.resolve([]) };
      const every = [
        ...Array.from({ length: streams }, stream),
        ...Array.from({ length: lanes }, (_, at) => lane(at).then(() => null)),
      ];
      window.load.endings = Promise.all(every).then((all) => [
        ...all.filter((one) => one !== null),
        ...endings,
      ]);
    },
    [key, CHAT, EMBEDDING, STREAMS, LANES, TOKENS] as const,
  );

const come = ({ page }: StartedPage): Promise<number> =>
  page.evaluate(() => window.load.deltas + window.load.answered);

/** Each lane has had an answer to a request that began since. */
async function answeredSince({ page }: StartedPage): Promise<void> {
  const answered = (): Promise<number> => page.evaluate(() => window.load.answered);
  const until = (await answered()) + 2 * LANES;
  await expect.poll(answered, { timeout: 180_000, interval: 50 }).toBeGreaterThanOrEqual(until);
}

async function underWay(tab: StartedPage): Promise<void> {
  const until = (await come(tab)) + 40;
  await expect.poll(() => come(tab), { timeout: 120_000, interval: 50 }).toBeGreaterThan(until);
}

const stop = ({ page }: StartedPage): Promise<Ending[]> =>
  page.evaluate(() => {
    window.load.stop = true;
    return window.load.endings;
  });

const modelsOf = (page: Page, key: string): Promise<string[]> =>
  page.evaluate(async (apiKey) => {
    const response = await fetch('/v1/models', { headers: { authorization: `Bearer ${apiKey}` } });
    const { data = [] } = (await response.json()) as { data?: { id: string; owned_by: string }[] };
    return data.map(({ id, owned_by }) => `${owned_by}/${id}`);
  }, key);

const issue = (page: Page): Promise<string> =>
  page.evaluate(async () => (await (await window.localtext).keys.issue({ label: 'again' })).key);

const say = ({ page }: Pick<StartedPage, 'page'>, key: string): Promise<string> =>
  page.evaluate(
    async ([apiKey, model]) => {
      const messages = [{ role: 'user' as const, content: 'Count.' }];
      const answer = await window
        .client(apiKey)
        .chat.completions.create({ model, messages, max_tokens: 12, temperature: 0 });
      return answer.choices[0]?.message.content ?? '';
    },
    [key, CHAT] as const,
  );

function counted(endings: Ending[]): string {
  const groups: Record<string, number> = {};
  for (const { kind, status, code, finish } of endings) {
    const group = [kind, status, code ?? finish].filter((part) => part !== null).join(' ');
    groups[group] = (groups[group] ?? 0) + 1;
  }
  return JSON.stringify(groups);
}

/** Every request is answered, or its error has a name. */
const unclear = (endings: Ending[]): Ending[] =>
  endings.filter(({ kind, status, code, finish }) => {
    if (status === 200) return kind === 'stream' && finish === null && code === null;
    return code === null || code === 'internal_error';
  });

/** Everything works in both tabs, with the site's own catalog and a new key. */
async function expectWhole(text: string): Promise<void> {
  for (const tab of [leader, asker]) {
    const key = await issue(tab.page);
    await expect
      .poll(() => modelsOf(tab.page, key), { timeout: 10_000 })
      .toEqual(ids.map((id) => `rig/${id}`));
    expect(await say(tab, key)).toBe(text);
  }
}

test(
  'a database that is deleted three times under load: streams stay whole, and every error has a name',
  { timeout: 600_000 },
  async () => {
    const text = await say(asker, asker.key);
    for (let round = 0; round < 3; round++) {
      const key = await issue(asker.page);
      await begin({ ...asker, key });
      await underWay(asker);
      const ms = await leader.page.evaluate(async () => {
        const began = performance.now();
        for (const { name = '' } of await indexedDB.databases())
          await new Promise<void>((resolve, reject) => {
            const deleting = indexedDB.deleteDatabase(name);
            deleting.onsuccess = () => resolve();
            deleting.onerror = () => reject(deleting.error ?? new Error('not deleted'));
          });
        return performance.now() - began;
      });
      await answeredSince(asker);
      const endings = await stop(asker);
      console.log(`deleted after ${Math.round(ms)} ms: ${counted(endings)}`);
      expect(ms).toBeLessThan(10_000);
      expect(unclear(endings)).toEqual([]);
      const streams = endings.filter(({ kind }) => kind === 'stream');
      expect(streams.map(({ status, finish }) => [status, finish])).toEqual(
        streams.map(() => [200, 'length']),
      );
      await expectWhole(text);
    }
  },
);

test.each(['indexeddb', 'file_systems,cache_storage', 'all'])(
  'site data that is cleared under load (%s): no request hangs, and the site works again',
  { timeout: 600_000 },
  async (storageTypes) => {
    const text = await say(asker, asker.key);
    const devtools = await context.newCDPSession(leader.page);
    await begin(asker);
    await underWay(asker);
    await devtools.send('Storage.clearDataForOrigin', { origin: inject('siteUrl'), storageTypes });
    await answeredSince(asker);
    const endings = await stop(asker);
    console.log(
      `cleared ${storageTypes}: ${counted(endings)}; slowest ${Math.round(Math.max(...endings.map(({ ms }) => ms)))} ms`,
    );
    // Without its service worker, a page sees broken connections, and what the host answers.
    const isHost = ({ status, code }: Ending): boolean =>
      storageTypes === 'all' && code === null && [0, 404, 405, 501].includes(status);
    const cut = ({ kind }: Ending): boolean => storageTypes === 'all' && kind === 'stream';
    expect(unclear(endings).filter((ending) => !isHost(ending) && !cut(ending))).toEqual([]);
    if (storageTypes === 'all')
      await expect
        .poll(() => modelsOf(asker.page, asker.key).catch((error: unknown) => String(error)), {
          timeout: 60_000,
        })
        .toEqual([]);
    if (storageTypes === 'all') {
      // Chromium gives what begins after that other locks than the open tabs hold, so that these cannot serve it.
      const key = await issue(asker.page);
      const said = await say(asker, key).catch((error: unknown) => String(error));
      if (said !== text) expect(said).toMatch(/If the site's data was cleared, reload its open tabs/);
      for (const { page } of [leader, asker]) await page.reload();
    }
    await expectWhole(text);
  },
);

/** What a frame does every few milliseconds until it is removed. */
const meddle = `
  const junk = () => {
    const circle = { type: 'localtext:serve', version: 1 };
    circle.self = circle;
    return [null, undefined, 0, '', [], {}, circle, { type: 'wanted' }, { type: 'given' }, { type: 'localtext:serve' },
      { type: 'localtext:need-engine', version: 1e9, scope: '/' }, { type: 'cancel' }, { type: 'credit', count: NaN },
      { version: VERSION, status: null }, { version: VERSION, entry: null }, { epoch: null }, { channel: 7 },
      { type: 'localtext:abort' }, { type: 'localtext:claim' }, new Uint8Array(1000)];
  };
  const names = ['status', 'call', 'added-files', 'leader-exit', 'requests'];
  const to = (data, act) => { try { act(data); } catch {} };
  setInterval(() => {
    for (const data of junk()) {
      to(data, () => parent.postMessage(data, '*', [new MessageChannel().port1]));
      to(data, () => top.postMessage(data, '*'));
      for (const name of names) to(data, () => {
        const channel = new BroadcastChannel('localtext:' + name);
        channel.postMessage(data);
        channel.close();
      });
      to(data, () => navigator.serviceWorker.controller.postMessage(data));
      to(data, () => navigator.serviceWorker.controller.postMessage(data, [new MessageChannel().port1]));
    }
  }, 100);
  try {
    for (const name of ['localtext:request:x', 'localtext:weights:x', 'localtext:engine:x'])
      for (let count = 0; count < 200; count++) navigator.locks.request(name, () => new Promise(() => {})).catch(() => {});
  } catch {}
`;

const addFrame = (page: Page, attributes: Record<string, string>, script: string): Promise<void> =>
  page.evaluate(
    ([given, code]) => {
      const frame = document.createElement('iframe');
      for (const [name, value] of Object.entries(given)) frame.setAttribute(name, value);
      frame.srcdoc = `<body><script>${code}</script></body>`;
      document.body.append(frame);
      return new Promise<void>((resolve) => frame.addEventListener('load', () => resolve()));
    },
    [attributes, script] as const,
  );

const removeFrames = (page: Page): Promise<void> =>
  page.evaluate(() => document.querySelectorAll('iframe').forEach((frame) => frame.remove()));

const epochOf = ({ page }: StartedPage): Promise<string> =>
  page.evaluate(async () => (await (await window.localtext).status()).epoch);

test.each([
  ['of the site', {}],
  ['in a sandbox', { sandbox: 'allow-scripts' }],
])('messages and locks of a frame %s disturb no request', { timeout: 300_000 }, async (_, attributes) => {
  const text = await say(asker, asker.key);
  const epoch = await epochOf(asker);
  const errors: string[] = [];
  for (const { page } of [leader, asker]) page.on('pageerror', ({ message }) => errors.push(message));
  await begin(asker);
  for (const { page } of [leader, asker])
    await addFrame(page, attributes, meddle.replaceAll('VERSION', String(PROTOCOL_VERSION)));
  await underWay(asker);
  await answeredSince(asker);
  const endings = await stop(asker);
  console.log(`frames: ${counted(endings)}`);
  for (const { page } of [leader, asker]) await removeFrames(page);
  expect(endings.filter(({ status, code }) => status !== 200 || code !== null)).toEqual([]);
  expect(errors).toEqual([]);
  expect(await epochOf(asker)).toBe(epoch);
  await expectWhole(text);
});
