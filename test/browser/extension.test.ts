import { createHash, randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { beforeAll, expect, test } from 'vitest';

import { bundleSamples } from '../support/bundle-samples.ts';
import { extensionId } from '../support/extension-id.ts';
import { launch } from '../support/launch.ts';
import { tempFolder } from '../support/temp-folder.ts';

/** Chromium answers a range of an extension's file with status 200, the bytes of the range and no length. */

const SOURCE = join(import.meta.dirname, '../../src/weights');
const PAGE = `
  import { download } from '${SOURCE}/download/download.ts';
  import { MemoryBackend } from '${SOURCE}/backends/open-backend.ts';
  globalThis.store = async (file) => {
    const backend = new MemoryBackend();
    const { signal } = new AbortController();
    const url = new URL('weights.bin', location.href).href;
    const chunks = await download(backend, file, { url, name: 'x', signal, onProgress() {} });
    return { chunks: chunks.length, bytes: (await backend.read('x')).size };
  };`;

const weights = randomBytes(9_000_000);
let folder: string;

beforeAll(async () => {
  folder = await tempFolder('extension');
  const manifest = {
    manifest_version: 3,
    name: 'test',
    version: '1',
    content_security_policy: { extension_pages: "script-src 'self' 'wasm-unsafe-eval'" },
  };
  const scripts = await bundleSamples(new Map([['page', PAGE]]));
  const files: [string, string | Buffer][] = [
    ['manifest.json', JSON.stringify(manifest)],
    ['page.html', '<!doctype html><title>Extension</title><script type="module" src="page.js"></script>'],
    ['weights.bin', weights],
    ...scripts,
  ];
  for (const [name, content] of files) await writeFile(join(folder, name), content);
});

test('the page of an extension downloads weights from the extension', async () => {
  const context = await launch({
    extraArgs: [`--load-extension=${folder}`, `--disable-extensions-except=${folder}`],
  });
  const page = await context.newPage();
  await page.goto(`chrome-extension://${extensionId(folder)}/page.html`);
  const file = {
    path: 'weights.bin',
    bytes: weights.length,
    sha256: createHash('sha256').update(weights).digest('hex'),
  };
  const stored = await page.evaluate(
    (wanted) =>
      (globalThis as unknown as { store(file: unknown): Promise<{ chunks: number; bytes: number }> }).store(
        wanted,
      ),
    file,
  );
  expect(stored).toEqual({ chunks: 3, bytes: weights.length });
});
