import type { BrowserContext, Page } from 'playwright';
import { afterEach, beforeAll, expect, test } from 'vitest';

import { launch } from '../support/launch.ts';
import { openPage } from '../support/open-page.ts';
import { StaticSite } from '../support/static-site.ts';
import { embed } from '../support/ask-page.ts';

const EMBEDDER = 'jade-mole-4';
const GRAPH = 'all-minilm-l6-v2-int8/onnx/model.onnx';

let site: StaticSite;
let context: BrowserContext;

beforeAll(async () => {
  site = await StaticSite.start();
  context = await launch();
});

// A page that a failed test has left open would lead.
afterEach(async () => {
  await Promise.all(context.pages().map((page) => page.close()));
  await site.start();
});

const stored = (page: Page) =>
  page.evaluate(async () => {
    const { variants } = await (await window.localtext).weights.list();
    return variants.filter(({ storedBytes }) => storedBytes > 0);
  });

test('stored weights are listed, served at their path in ranges, exported and imported', async () => {
  const { page, key } = await openPage(context, site.url);
  expect(await stored(page)).toEqual([]);
  await page.evaluate(async (id) => void (await (await window.localtext).ready(id)), EMBEDDER);
  expect(await stored(page)).toMatchObject([
    { variant: 'all-minilm-l6-v2-int8', models: [EMBEDDER], state: 'whole', inUse: true },
  ]);

  await site.stop();
  const answered = await page.evaluate(async (path) => {
    const url = `/models/${path}`;
    const [part, tail, beyond, any, known, other, whole] = await Promise.all([
      fetch(url, { headers: { range: 'bytes=100-199' } }),
      fetch(url, { headers: { range: 'bytes=-10' } }),
      fetch(url, { headers: { range: 'bytes=999999999-' } }),
      fetch(url, { headers: { 'if-none-match': '*' } }),
      fetch(url, {
        headers: {
          'if-none-match': '"a", W/"b6db4f7ff62999d02e248973906a3c222e8742aa25e6a3fec62ed8e9c47dddda"',
        },
      }),
      fetch(url, { headers: { 'if-none-match': '"a"', range: 'bytes=0-0' } }),
      fetch(url),
    ]);
    return {
      part: [part.status, part.headers.get('content-range'), (await part.arrayBuffer()).byteLength],
      tail: [tail.status, tail.headers.get('content-range')],
      beyond: [beyond.status, beyond.headers.get('content-range')],
      unchanged: [any.status, known.status, other.status],
      whole: [whole.status, (await whole.arrayBuffer()).byteLength, whole.headers.get('etag')],
    };
  }, GRAPH);
  expect(answered).toEqual({
    part: [206, 'bytes 100-199/23610634', 100],
    tail: [206, 'bytes 23610624-23610633/23610634'],
    beyond: [416, 'bytes */23610634'],
    unchanged: [304, 304, 206],
    whole: [200, 23610634, '"b6db4f7ff62999d02e248973906a3c222e8742aa25e6a3fec62ed8e9c47dddda"'],
  });

  const took = await page.evaluate(async (id) => {
    const { weights } = await window.localtext;
    const exported = await weights.export(id);
    const files = await Promise.all(
      exported.map(
        async ({ path, open }) => new File([await (await open()).blob()], path.split('/').at(-1) ?? ''),
      ),
    );
    await weights.delete(id);
    const left = (await weights.list()).variants.filter(({ storedBytes }) => storedBytes > 0).length;
    const completed: string[][] = [];
    await weights
      .import([...files, new File(['?'], 'stranger.bin')], {
        onFile: (file) => completed.push(file.completed),
      })
      .catch((error: unknown) => completed.push([String(error)]));
    return { left, completed };
  }, EMBEDDER);
  expect(took.left).toBe(0);
  expect(took.completed.at(-1)?.[0]).toMatch(/stranger\.bin \(1 bytes\) does not belong to a model/);
  expect(took.completed.flat()).toContain('all-minilm-l6-v2-int8');
  // The server is still away.
  expect((await embed(page, key, EMBEDDER, 'hello'))[0]).toHaveLength(384);
});
