import type { BrowserContext, Page } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import { launch } from '../support/launch.ts';
import { openPage } from '../support/open-page.ts';
import { AlteredSite } from '../support/altered-site.ts';
import { ask, embed } from '../support/ask-page.ts';

const siteUrl = inject('siteUrl');
/** Browsers report every violation there: of pages, workers, threads and the service worker. */
const REPORTS = '/csp-report';
const FOUR_PROCESSORS =
  "Object.defineProperty(Object.getPrototypeOf(navigator), 'hardwareConcurrency', { get: () => 4 });";
let context: BrowserContext;
/** Policy as the playground's servers send it. */
let strict: string;

beforeAll(async () => {
  context = await launch();
  strict = (await fetch(siteUrl)).headers.get('content-security-policy') ?? '';
});

const withPolicy = (policyOf: (path: string) => string): Promise<AlteredSite> =>
  AlteredSite.start(siteUrl, {
    isolated: true,
    headers: (path) => ({ 'content-security-policy': `${policyOf(path)}; report-uri ${REPORTS}` }),
  });

const reports = (site: AlteredSite): string[] => site.asked.filter((path) => path.startsWith(REPORTS));

const outcome = (page: Page, model: string): Promise<{ code: string; message: string }> =>
  page.evaluate(async (id) => {
    try {
      await (await window.localtext).ready(id, { signal: AbortSignal.timeout(60_000) });
      return { code: 'ready', message: '' };
    } catch (error) {
      const { code, message } = error as { code: string; message: string };
      return { code, message };
    }
  }, model);

test('the policy allows no inline script, no blob: or data: script, no frames of other sites, and no plain HTML', () => {
  for (const part of [
    "default-src 'self'",
    "script-src 'self' 'wasm-unsafe-eval';",
    "style-src 'self';",
    "worker-src 'self';",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
    "require-trusted-types-for 'script'",
    'trusted-types localtext dompurify;',
  ])
    expect(`${strict};`).toContain(part);
});

test('chat and embeddings on threads run under it, without a violation anywhere', async () => {
  const site = await withPolicy(() => strict);
  // Two threads, whatever the machine has: more of them than cores wait for each other.
  site.workerPrefix = `${FOUR_PROCESSORS}\n`;
  const { page, key } = await openPage(context, site.url);
  const chat = await ask(page, key, 'amber-phoenix-4', 'Say hi.', { max_completion_tokens: 4 });
  expect(chat.usage?.completion_tokens).toBe(4);
  expect(chat.system_fingerprint).toContain('wasm-2t');
  expect((await embed(page, key, 'jade-mole-4', 'a cat'))[0]).toHaveLength(384);
  // Refused for its model, after openai has found how to send a file.
  await page.evaluate(async (apiKey) => {
    const file = new File(['a'], 'a.wav');
    const { fetch, baseURL } = await window.localtext;
    const client = new window.OpenAI({ apiKey, baseURL, fetch, dangerouslyAllowBrowser: true });
    await client.audio.transcriptions.create({ file, model: 'jade-mole-4' }).catch(() => undefined);
  }, key);
  expect(site.asked).toContainEqual(
    expect.stringMatching(/^\/localtext\/wasm\/wllama-worker-[\da-f]{8}\.js$/),
  );
  expect(reports(site)).toEqual([]);

  // That reports do come.
  await page.evaluate(() => {
    const image = document.createElement('img');
    image.src = 'https://elsewhere.invalid/a.png';
  });
  await expect.poll(() => reports(site).length, { timeout: 10_000 }).toBeGreaterThan(0);
  await page.close();
});

test('start() reports a policy that allows no workers', async () => {
  const site = await withPolicy(() => strict.replace("worker-src 'self'", "worker-src 'none'"));
  const page = await context.newPage();
  await page.goto(`${site.url}/test-page.html`);
  const { code, message } = await outcome(page, 'amber-phoenix-4');
  expect(code).toBe('worker_blocked');
  expect(message).toMatch(/Content-Security-Policy \(worker-src\) blocks .*Allow 'self' in worker-src/);
  await page.close();
});

test('an engine worker that may start no nested workers names that, for each engine', async () => {
  const site = await withPolicy((path) =>
    path.startsWith('/assets/worker-') ? "worker-src 'none'" : strict,
  );
  const { page } = await openPage(context, site.url);
  for (const [model, script] of [
    ['amber-phoenix-4', 'the worker wllama-worker-'],
    // Its own script again.
    ['jade-mole-4', 'the worker worker-'],
  ] as const) {
    const { code, message } = await outcome(page, model);
    expect(message).toContain(script);
    expect(code).toBe('worker_blocked');
  }
  await page.close();
});

test('a policy without WebAssembly is named, for each engine', async () => {
  const site = await withPolicy(() => strict.replaceAll("'wasm-unsafe-eval'", ''));
  const { page } = await openPage(context, site.url);
  for (const model of ['amber-phoenix-4', 'jade-mole-4'] as const) {
    const { code, message } = await outcome(page, model);
    expect(message).toMatch(/Content-Security-Policy does not allow WebAssembly\. Add 'wasm-unsafe-eval'/);
    expect(code).toBe('model_load_failed');
  }
  await page.close();
});

/** How a start of the page ends, and what a request through `createFetch()` gets. */
const refusals = (page: Page): Promise<{ start: unknown; request: unknown }> =>
  page.evaluate(async () => {
    const { lifetime } = window;
    const code = ({ code: name, message }: { code?: string; message: string }) => `${name}: ${message}`;
    const started = await lifetime.start({ isolation: [] }).then(() => 'started', code);
    await lifetime.startWithoutServiceWorker().catch(() => undefined);
    lifetime.begin('refused', 'no key', { messages: [{ role: 'user', content: 'hi' }] });
    while (!lifetime.runs['refused']?.ended) await new Promise((resolve) => setTimeout(resolve, 20));
    return { start: started, request: lifetime.runs['refused'].error };
  });

test('start() and requests tell a sandboxed page what its policy lacks', async () => {
  const site = await AlteredSite.start(siteUrl, {
    headers: () => ({
      'content-security-policy': 'sandbox allow-scripts',
      // A sandboxed page is of another origin than its scripts.
      'access-control-allow-origin': '*',
    }),
  });
  const page = await context.newPage();
  await page.goto(`${site.url}/lifetime-page.html`);
  const { start, request } = await refusals(page);
  expect(start).toMatch(/^storage_unavailable: .*sandboxed without `allow-same-origin`/);
  expect(request).toMatchObject({ code: 'storage_unavailable', status: 500 });
  await page.close();
});

test('a service worker whose policy blocks every fetch is not installed, as the site would be unreachable', async () => {
  const site = await withPolicy(
    () => "script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'none'",
  );
  const page = await context.newPage();
  await page.goto(`${site.url}/lifetime-page.html`);
  const { start } = await refusals(page);
  expect(start).toMatch(/^service_worker_failed: .*no 'self' in connect-src/);
  expect((await page.reload())?.status()).toBe(200);
  await page.close();
});
