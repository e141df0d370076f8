import type { BrowserContext, Page } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import { launch } from '../support/launch.ts';
import { openPage } from '../support/open-page.ts';

const siteUrl = inject('siteUrl');
let context: BrowserContext;

beforeAll(async () => {
  context = await launch();
});

const failure = (page: Page, model: string): Promise<string> =>
  page.evaluate(async (id) => {
    try {
      await (await window.localtext).ready(id, { signal: AbortSignal.timeout(60_000) });
      return 'loaded';
    } catch (error) {
      return String(error);
    }
  }, model);

test('engines whose WASM files are missing fail with an error that names them, and never hang', async () => {
  const { page } = await openPage(context, siteUrl, { wasmUrl: '/nowhere/' });
  expect(await failure(page, 'amber-phoenix-4')).toMatch(
    /wllama(-worker)?-[\da-f]{8}\.(wasm|js) could not be downloaded: the server answered 404\. Put the files of the wasm folder back/,
  );
  expect(await failure(page, 'jade-mole-4')).toMatch(
    /ort-wasm-simd-threaded-[\da-f]{8}\.(wasm|js) could not be downloaded: the server answered 404\. Put the files of the wasm folder back/,
  );
  await page.close();
});
