import { readFile } from 'node:fs/promises';
import type { BrowserContext, Page } from 'playwright';
import { beforeAll, expect, test } from 'vitest';
import type { VariantOf } from '../../src/catalog/catalog.ts';
import { launch } from '../support/launch.ts';
import { startWebLlmSite } from '../support/web-llm-site.ts';
import { tinyMlc } from '../support/web-llm/tiny-mlc.ts';
import type { FileSource } from '../support/web-llm/web-llm-worker.ts';
import { mlcVariant } from '../support/catalogs.ts';

let site: Awaited<ReturnType<typeof startWebLlmSite>>;
let context: BrowserContext;
let page: Page;

beforeAll(async () => {
  site = await startWebLlmSite();
  context = await launch({ webgpu: 'software' });
  page = await open(context);
});

async function open(browser: BrowserContext): Promise<Page> {
  const opened = await browser.newPage();
  await opened.goto(`${site.url}page.html`);
  await opened.waitForFunction(() => 'webLlm' in window);
  return opened;
}

const variant = mlcVariant('tiny-f32', 'https://libs.example.com/tiny.wasm');

const files = (library: FileSource | null): Record<string, FileSource> => ({
  ...Object.fromEntries(Object.entries(tinyMlc).map(([name, text]) => [`mlc/tiny/${name}`, { text }])),
  ...(library && { 'mlc/tiny/tiny.wasm': library }),
});

const load = (more: Partial<VariantOf<'web-llm'>>, library: FileSource | null, on = page) =>
  on.evaluate(([wanted, sources]) => window.webLlm.load(wanted, sources), [
    { ...variant, ...more },
    files(library),
  ] as const);

test('the device is described: a software GPU, without half floats', async () => {
  const device = await page.evaluate(() => window.webLlm.device());
  expect(device.gpu).toMatchObject({ fallback: true });
  expect(device.gpu?.features).not.toContain('shader-f16');
  expect(device.cores).toBeGreaterThan(0);
});

test('a library cut short, and WASM of another kind: the package itself refuses them, and it is said in words', async () => {
  const cut = await load({}, { text: '\0asm\u0001\0\0\0\u0001\u0005' });
  expect(cut).toMatchObject({
    code: 'weights_corrupt',
    message: expect.stringMatching(/model library mlc\/tiny\/tiny\.wasm cannot be run/) as string,
  });
  const other = new URL('../../node_modules/@wllama/wllama/esm/wasm/wllama.wasm', import.meta.url);
  expect((await readFile(other)).length).toBeGreaterThan(1e6);
  const wrong = await load({}, { url: `${site.url}node_modules/@wllama/wllama/esm/wasm/wllama.wasm` });
  expect(wrong).toMatchObject({
    code: 'weights_corrupt',
    message: expect.stringMatching(/tiny\.wasm/) as string,
  });
});

test('a page on which loads have failed still loads, and web-llm has kept no separate caches', async () => {
  const empty = { text: '\0asm\u0001\0\0\0' };
  expect(await load({}, empty)).toMatchObject({ code: 'weights_corrupt' });
  expect(await page.evaluate(() => window.webLlm.caches())).toEqual([]);
});

test('a browser without WebGPU: said so', async () => {
  const plain = await launch();
  try {
    const answer = await load({}, null, await open(plain));
    expect(answer).toMatchObject({
      code: 'device_unsupported',
      message: expect.stringMatching(/needs WebGPU/) as string,
    });
  } finally {
    await plain.close();
  }
});
