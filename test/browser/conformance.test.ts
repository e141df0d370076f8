import type { BrowserContext, Page } from 'playwright';
import { afterAll, beforeAll, describe, inject, test } from 'vitest';

import { cases } from '../conformance/cases.ts';
import type { Answer } from '../conformance/conformance-case.ts';
import { toPlainRequest, toRequestInit, type PlainRequest } from '../conformance/plain-request.ts';
import { launchWithWeights } from '../support/stored-weights.ts';
import { openPage } from '../support/open-page.ts';

/** As many as the engine has slots. */
const AT_ONCE = 4;
/** All cases take some 90 s on two processors, and 160 beside other work. */
const LIMIT_MS = 400_000;

let context: BrowserContext;
let page: Page;
const answers = new Map<string, Answer | Error>();

beforeAll(async () => {
  context = await launchWithWeights();
  ({ page } = await openPage(context, inject('siteUrl')));
  const keys = await page.evaluate(async () => {
    const { keys: store } = await window.localtext;
    const limits = { requestsPerMinute: 10_000, tokensPerMinute: 10_000_000 };
    const revoked = await store.issue({ label: 'revoked' });
    await store.revoke(revoked.id);
    return {
      good: (await store.issue({ label: 'good', limits })).key,
      revoked: revoked.key,
      expired: (await store.issue({ label: 'expired', expiresAt: 1 })).key,
      'only-indigo-owl-4': (await store.issue({ label: 'one', models: ['indigo-owl-4'] })).key,
    };
  });
  const waiting = [...cases];
  const lane = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { name, request } = next;
      const answered = await send(toPlainRequest(request, keys)).catch((error: unknown) => error as Error);
      answers.set(name, answered instanceof Error ? answered : { ...answered, sent: request });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
}, LIMIT_MS);

afterAll(async () => {
  await context.close();
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

describe('the service worker, on real weights', () => {
  test.each(cases.map((one) => [one.name, one] as const))('%s', (name, { facts }) => {
    const answer = answers.get(name);
    if (!answer) throw new Error('it was never answered');
    if (answer instanceof Error) throw answer;
    for (const fact of facts) fact(answer);
  });
});
