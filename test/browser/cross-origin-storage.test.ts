import type { BrowserContext } from 'playwright';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

import { launch } from '../support/launch.ts';
import { openPage } from '../support/open-page.ts';
import { shareStorage, SharedFileServer } from '../support/shared-file-server.ts';
import { AlteredSite } from '../support/altered-site.ts';

const VARIANT = 'all-minilm-l6-v2-int8';
const FILE = `${VARIANT}/onnx/model.onnx`;
const BYTES = 23_614_673;

let context: BrowserContext;
let shared: SharedFileServer;
/** Two origins with the same app. */
let sites: [AlteredSite, AlteredSite];

beforeAll(async () => {
  const siteUrl = inject('siteUrl');
  shared = await SharedFileServer.start();
  sites = [await AlteredSite.start(siteUrl), await AlteredSite.start(siteUrl)];
  context = await launch();
  await context.addInitScript(shareStorage, shared.url);
});
afterAll(async () => {
  await context.close();
  await Promise.all([...sites, shared].map((each) => each.stop()));
});

/** Embeds a text on a fresh page of the site. */
async function visit(site: AlteredSite) {
  site.asked.length = 0;
  const options = { prefer: [VARIANT], sources: { crossOriginStorage: true } };
  const query = encodeURIComponent(JSON.stringify(options));
  const { page, key } = await openPage(context, site.url, `/test-page.html?options=${query}`);
  try {
    const result = await page.evaluate(
      async ([apiKey, name]) => {
        const localtext = await window.localtext;
        const { data } = await window
          .client(apiKey)
          .embeddings.create({ model: 'jade-mole-4', input: 'A lamp at dusk.' });
        const { models } = await localtext.status();
        const model = models.find(({ id }) => id === 'jade-mole-4');
        const { variants } = await localtext.weights.list();
        const stored = variants.find(({ variant }) => variant === name);
        return { vector: data[0]?.embedding, files: model?.files, fingerprint: model?.fingerprint, stored };
      },
      [key, VARIANT] as const,
    );
    return { ...result, downloads: site.asked.filter((path) => path.includes('.onnx')).length };
  } finally {
    await page.close();
  }
}

test('the second origin downloads nothing of what the first has shared, and neither keeps a copy', async () => {
  const [first, second] = sites;
  const one = await visit(first);
  expect(one.downloads).toBeGreaterThan(0);
  expect(one.fingerprint).toMatch(VARIANT);
  expect(one.files?.[FILE]).toBe(`${first.url}/models/${FILE}`);
  expect([...shared.files.values()].map(({ length }) => length)).toEqual([BYTES]);

  const two = await visit(second);
  expect(two.downloads).toBe(0);
  expect(two.files?.[FILE]).toBe('cross-origin-storage');
  expect(two.vector).toEqual(one.vector);
  for (const { stored } of [one, two]) {
    expect(stored).toMatchObject({ state: 'whole', sharedBytes: BYTES });
    expect(stored?.storedBytes).toBeLessThan(1e6);
  }

  // After a restart both read it in place, and check it again.
  for (const site of sites) expect((await visit(site)).downloads).toBe(0);
  expect(shared.asked.filter((each) => each.startsWith('PUT'))).toHaveLength(1);
});
