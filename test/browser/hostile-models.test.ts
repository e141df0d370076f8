import { mkdir, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { BrowserContext, CDPSession, Page } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import { launch } from '../support/launch.ts';
import { chatMetadata, oneTensor, writeGguf } from '../support/write-gguf.ts';
import { tempFolder } from '../support/temp-folder.ts';

/** Files that a user may choose by mistake or be given by somebody else, on the way that a model takes. */

const GIB = 2 ** 30;
const NAME = 'large.gguf';
/** So large, and nearly all of it a hole. */
const BYTES = 2.2e9;

let folder: string;
let context: BrowserContext;
let page: Page;
let devtools: CDPSession;

beforeAll(async () => {
  folder = await tempFolder('hostile');
  const tensor = { ...oneTensor, shape: [32, Math.floor(BYTES / 34)], bytes: 0 };
  await writeFile(join(folder, NAME), writeGguf({ metadata: chatMetadata, tensors: [tensor] }));
  await truncate(join(folder, NAME), BYTES + 4096);
  context = await launch();
  page = await context.newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(`${inject('siteUrl')}/#/models`);
  await page.getByRole('region', { name: 'Your own model' }).waitFor();
  devtools = await context.newCDPSession(page);
  await page.evaluate(() => {
    const input = Object.assign(document.createElement('input'), { type: 'file', id: 'bad-file' });
    document.body.append(input);
  });
});

test('a file of more than 2 GiB is described by its header alone', async () => {
  await devtools.send('Storage.overrideQuotaForOrigin', { origin: inject('siteUrl'), quotaSize: 5 * GIB });
  await page.locator('#bad-file').setInputFiles(join(folder, NAME));
  const details = await page.evaluate(async () => {
    const [chosen] = document.querySelector<HTMLInputElement>('#bad-file')?.files ?? [];
    return (await window.localtext).models.inspect(chosen ?? []);
  });
  expect(details).toMatchObject({ architecture: 'llama', quantization: 'Q8_0', bytes: BYTES + 4096 });
  // WASM memory has 64-bit addresses here, so that it need not be split.
  expect(details.problem ?? '').not.toContain('split');
});

test('a folder that is dropped is named', async () => {
  const inside = join(folder, 'models of mine');
  await mkdir(inside, { recursive: true });
  const zone = page.locator('.drop-zone');
  await zone.scrollIntoViewIfNeeded();
  const box = await zone.boundingBox();
  const at = { x: (box?.x ?? 0) + 20, y: (box?.y ?? 0) + 20 };
  const data = { items: [], files: [inside], dragOperationsMask: 1 };
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
    await devtools.send('Input.dispatchDragEvent', { type, ...at, data });
  await page.getByRole('alert').getByText('models of mine is a folder').waitFor();
});
