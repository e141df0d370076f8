import { mkdir, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { BrowserContext, CDPSession, Page } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import { launch } from '../support/launch.ts';
import { chatMetadata, oneTensor, writeGguf } from '../support/write-gguf.ts';
import { tempFolder } from '../support/temp-folder.ts';

/** Files that a user may choose by mistake or be given by somebody else, on the way that a model takes. */

const GIB = 2 ** 30;
const metadata = (more: Record<string, number | string> = {}) => ({ ...chatMetadata, ...more });
const sound = (more: Record<string, number | string> = {}) =>
  writeGguf({ metadata: metadata(more), tensors: [oneTensor] });
/** A header whose one tensor has so many bytes, which are not there. */
const header = (rows: number) =>
  writeGguf({ metadata: metadata(), tensors: [{ ...oneTensor, shape: [32, rows], bytes: 0 }] });
interface Case {
  bytes: Buffer<ArrayBuffer>;
  /** Size of a sparse file. */
  size?: number;
  code: string;
  says: RegExp;
}

const INVALID = 'invalid_model_file';
const cases: Record<string, Case> = {
  'notes.gguf': { bytes: Buffer.from('a text, and no model at all'), code: INVALID, says: /is not a GGUF/ },
  'cut-tensors.gguf': { bytes: sound().subarray(0, -64), code: INVALID, says: /ends at byte/ },
  'future.gguf': { bytes: sound({ 'general.architecture': 'future' }), code: INVALID, says: /does not have/ },
  'loops.gguf': {
    bytes: sound({
      'tokenizer.chat_template':
        '{% for i in range(10**9) %}{% for j in range(10**9) %}x{% endfor %}{% endfor %}',
    }),
    code: 'unsupported_model',
    says: /chat template .* range\(\)/,
  },
  '20-gigabytes.gguf': {
    bytes: header(Math.floor(20e9 / 34)),
    size: 20e9 + 4096,
    code: 'unsupported_model',
    says: /needs 20\.\d GB of memory/,
  },
  'quota.gguf': {
    bytes: header(Math.floor(2.2e9 / 34)),
    size: 2.2e9 + 4096,
    code: 'storage_full',
    says: /2,?2\d\d,?\d{3},?\d{3}|2\.2 GB/,
  },
};

let folder: string;
let context: BrowserContext;
let page: Page;
let devtools: CDPSession;

beforeAll(async () => {
  folder = await tempFolder('hostile');
  for (const [name, { bytes, size }] of Object.entries(cases)) {
    await writeFile(join(folder, name), bytes);
    if (size !== undefined) await truncate(join(folder, name), size);
  }
  context = await launch();
  page = await context.newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(`${inject('siteUrl')}/#/models`);
  await page.getByRole('region', { name: 'Your own model' }).waitFor();
  devtools = await context.newCDPSession(page);
  await devtools.send('Storage.overrideQuotaForOrigin', { origin: inject('siteUrl'), quotaSize: 2e9 });
  await page.evaluate(() => {
    const input = Object.assign(document.createElement('input'), { type: 'file', id: 'bad-file' });
    document.body.append(input);
  });
});

const stored = (): Promise<string[]> =>
  page.evaluate(async () => {
    await (await window.localtext).weights.list();
    let directory = await navigator.storage.getDirectory();
    for (const name of ['localtext', 'weights']) directory = await directory.getDirectoryHandle(name);
    const names: string[] = [];
    for await (const name of directory.keys()) names.push(name);
    return names.toSorted();
  });

test.each(Object.entries(cases))('%s is refused before it is copied', async (name, { code, says }) => {
  const before = await stored();
  await page.locator('#bad-file').setInputFiles(join(folder, name));
  const refused = await page.evaluate(async () => {
    const { models } = await window.localtext;
    const [file] = document.querySelector<HTMLInputElement>('#bad-file')?.files ?? [];
    if (!file) throw new Error('no file was chosen');
    const progress: number[] = [];
    try {
      await models.add(file, { onProgress: ({ loadedBytes }) => progress.push(loadedBytes) });
      return { code: 'added', message: '', progress };
    } catch (error) {
      const { code: why, message } = error as { code: string; message: string };
      return { code: why, message, progress };
    }
  });
  expect(refused).toEqual({ code, message: expect.stringMatching(says), progress: [] });
  expect(await stored()).toEqual(before);
});

test('a file of more than 2 GiB is described by its header alone', async () => {
  const file = join(folder, 'quota.gguf');
  await devtools.send('Storage.overrideQuotaForOrigin', { origin: inject('siteUrl'), quotaSize: 5 * GIB });
  await page.locator('#bad-file').setInputFiles(file);
  const details = await page.evaluate(async () => {
    const [chosen] = document.querySelector<HTMLInputElement>('#bad-file')?.files ?? [];
    return (await window.localtext).models.inspect(chosen ?? []);
  });
  expect(details).toMatchObject({ architecture: 'llama', quantization: 'Q8_0', bytes: 2.2e9 + 4096 });
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
