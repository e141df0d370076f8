import type { BrowserContext, Page } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import { AlteredSite } from '../support/altered-site.ts';
import { launch } from '../support/launch.ts';
import { openPage } from '../support/open-page.ts';
import { graphs, running } from '../support/tiny-onnx/hostile-graphs.ts';
import { serveModels, type ModelServer } from '../support/tiny-onnx/serve-models.ts';
import { tinyModel, tinyVariant } from '../support/tiny-onnx/tiny-model.ts';
import { catalogOf, modelOf } from '../support/catalogs.ts';
import { send } from '../support/send.ts';

/** The graph of an embedding model is a program. Those of this test have the hashes that the catalog names. */

const LOAD_MS = 60_000;

let context: BrowserContext;
let server: ModelServer;
let site: AlteredSite;
let page: Page;
let key: string;
let path: string;

const FINE = tinyModel();
const files = Object.fromEntries(
  Object.entries({ ...graphs, ...running }).map(([name, graph]) => [
    name,
    { ...FINE, 'onnx/model.onnx': graph },
  ]),
);

beforeAll(async () => {
  server = await serveModels({ ...files, fine: FINE });
  site = await AlteredSite.start(inject('siteUrl'), { isolated: true });
  context = await launch();
  const variants = Object.entries({ ...files, fine: FINE }).map(([name, each]) =>
    tinyVariant(each, server.url, name),
  );
  const catalog = catalogOf(...variants.map((variant) => modelOf(variant.name, [variant], 'embedding')));
  const options = encodeURIComponent(JSON.stringify({ catalog }));
  path = `/test-page.html#options=${options}`;
  ({ page, key } = await openPage(context, site.url, path));
});

/** The error, or `loaded`. */
const ready = (model: string): Promise<string> =>
  page.evaluate(
    async ([id, ms]) =>
      (await window.localtext).ready(id, { signal: AbortSignal.timeout(ms) }).then(
        () => 'loaded',
        (error: { code?: string; message: string }) => `${error.code}: ${error.message}`,
      ),
    [model, LOAD_MS] as const,
  );

interface Embedded {
  status: number;
  code: string | null;
  message: string;
  vector: number[];
  ms: number;
}

interface Answer {
  data?: { embedding: number[] }[];
  error?: { code: string; message: string };
}

async function embed(model: string, by = { page, key }): Promise<Embedded> {
  const began = performance.now();
  const json = { model, input: 'a lamp' };
  const { status, body } = await send<Answer>(by.page, by.key, '/v1/embeddings', json);
  const { code = null, message = '' } = body.error ?? {};
  return { status, code, message, vector: body.data?.[0]?.embedding ?? [], ms: performance.now() - began };
}

async function expectFine(known: number[], after: string): Promise<void> {
  const { status, vector } = await embed('fine');
  expect(status, after).toBe(200);
  expect(vector, after).toEqual(known);
}

let known: number[];

test('a graph that cannot be what it says is refused by name', { timeout: 600_000 }, async () => {
  known = (await embed('fine')).vector;
  expect(Math.hypot(...known)).toBeCloseTo(1, 5);
  for (const name of Object.keys(graphs)) {
    const began = Date.now();
    const said = await ready(name);
    console.log(`${name}: ${Date.now() - began} ms: ${said}`);
    expect.soft(said, name).toMatch(/^(weights_corrupt|device_unsupported|out_of_memory): /);
    expect.soft(said, name).toContain(name);
    await expectFine(known, name);
  }
});

test('what a graph computes is a vector of the model, or an error', { timeout: 300_000 }, async () => {
  const codes: unknown[] = [];
  for (const name of ['not-a-number', 'another-width', 'huge-constant', 'huge-when-run']) {
    expect(await ready(name)).toBe('loaded');
    const { status, code, message, ms } = await embed(name);
    console.log(`${name}: ${Math.round(ms)} ms: ${status} ${code}: ${message}`);
    expect.soft(status, name).toBe(500);
    codes.push(code);
    await expectFine(known, name);
  }
  expect(codes).toEqual(['engine_failed', 'engine_failed', 'engine_crashed', 'weights_corrupt']);
});

test(
  'a graph without an end holds its own model alone, and no longer than its caller',
  { timeout: 300_000 },
  async () => {
    expect(await ready('endless')).toBe('loaded');
    // The tab is closed: of a request that is aborted before its headers, browsers do not tell the service worker.
    const { page: caller, key: callerKey } = await openPage(context, site.url, path);
    const asking = embed('endless', { page: caller, key: callerKey }).catch(() => 'closed');
    await expect.poll(() => removed(), { timeout: 20_000, interval: 200 }).toMatch(/answers requests/);
    for (let at = 0; at < 5; at++) await expectFine(known, 'while the endless graph runs');
    await caller.close();
    expect(await asking).toBe('closed');
    const began = Date.now();
    await expect.poll(() => removed(), { timeout: 90_000, interval: 500 }).toBe('deleted');
    console.log(`the endless model was unloaded ${Date.now() - began} ms after its caller had left`);
    await expectFine(known, 'after the endless graph');
  },
);

/** Refused while a request runs on it. */
const removed = (): Promise<string> =>
  page.evaluate(async () =>
    (await window.localtext).weights.delete('endless').then(
      () => 'deleted',
      (error: unknown) => String(error),
    ),
  );
