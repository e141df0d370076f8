import type { BrowserContext, Page } from 'playwright';
import { beforeAll, describe, expect, inject, test } from 'vitest';

import { cases } from '../conformance/cases.ts';
import type { Answer } from '../conformance/conformance-case.ts';
import { toPlainRequest, toRequestInit, type PlainRequest } from '../conformance/plain-request.ts';
import { AlteredSite } from '../support/altered-site.ts';
import { fakeService } from '../support/fake-service.ts';
import { openPage } from '../support/open-page.ts';
import { smallChat } from '../support/small-chat.ts';
import { launchWithWeights } from '../support/stored-weights.ts';

/** Concurrent cases, as many as the engine has slots. */
const AT_ONCE = 4;

/** Keys by the names that the cases have for them. */
const KEYS = ['good', 'revoked', 'expired', 'only-indigo-owl-4'];

/** The others are answered before an engine is asked: test/conformance/node.test.ts has them. */
const asked = await reachAnEngine();

async function reachAnEngine(): Promise<typeof cases> {
  const limits = { requestsPerMinute: 10_000, tokensPerMinute: 10_000_000 };
  const { service, engine, key } = await fakeService({ issue: { limits } });
  const keys = Object.fromEntries(KEYS.map((name) => [name, key]));
  const found = [];
  for (const each of cases) {
    const before = engine.jobs.length;
    const { path, ...init } = toPlainRequest(each.request, keys);
    await (await service(new Request(`https://site.example${path}`, toRequestInit(init)))).text();
    if (engine.jobs.length > before) found.push(each);
  }
  return found;
}

let context: BrowserContext;
let site: AlteredSite;
let page: Page;
const answers = new Map<string, Answer | Error>();

beforeAll(async () => {
  const { catalog, serve } = await smallChat();
  site = await AlteredSite.start(inject('siteUrl'));
  serve(site);
  context = await launchWithWeights({ servedBy: site.url });
  ({ page } = await openPage(context, inject('siteUrl'), { catalog }));
  const keys = await page.evaluate(async () => {
    const { keys: store } = await window.localtext;
    const limits = { requestsPerMinute: 10_000, tokensPerMinute: 10_000_000 };
    return {
      good: (await store.issue({ label: 'good', limits })).key,
      'only-indigo-owl-4': (await store.issue({ label: 'one', models: ['indigo-owl-4'] })).key,
    };
  });
  const waiting = [...asked];
  const lane = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { name, request } = next;
      const answered = await send(toPlainRequest(request, keys)).catch((error: unknown) => error as Error);
      answers.set(name, answered instanceof Error ? answered : { ...answered, sent: request });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
});

function send(request: PlainRequest): Promise<Omit<Answer, 'sent'>> {
  return page.evaluate(
    async ([{ path, ...init }, source]) => {
      const toInit = new Function(`return ${source}`)() as (given: unknown) => RequestInit;
      const response = await fetch(path, { ...toInit(init), signal: AbortSignal.timeout(120_000) });
      const text = await response.text();
      return { status: response.status, headers: Object.fromEntries(response.headers), text };
    },
    [request, toRequestInit.toString()] as const,
  );
}

test('more than eighty cases reach an engine', () => expect(asked.length).toBeGreaterThan(80));

describe('the service worker, with real engines', () => {
  test.each(asked.map((one) => [one.name, one] as const))('%s', (name, { facts }) => {
    const answer = answers.get(name);
    if (!answer) throw new Error('it was never answered');
    if (answer instanceof Error) throw answer;
    for (const fact of facts) fact(answer);
  });
});
