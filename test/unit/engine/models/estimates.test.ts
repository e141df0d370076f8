import { expect, test } from 'vitest';

import type { Catalog, Variant } from '../../../../src/catalog/catalog.ts';
import { Estimates } from '../../../../src/engine/models/estimates.ts';
import { DownloadRate } from '../../../../src/weights/download/download-rate.ts';
import { WeightSources } from '../../../../src/weights/sources/weight-sources.ts';
import { MemoryBackend } from '../../../../src/weights/backends/memory-backend.ts';
import { openStore } from '../../weights/open-store.ts';
import { hashBlob } from '../../../../src/weights/integrity/file-hash.ts';

const blob = new Blob(['some weights']);
const file = { path: 'a.gguf', bytes: blob.size, sha256: (await hashBlob(blob)).sha256 };
const stored: Variant = {
  engine: 'wllama',
  name: 'stored',
  license: 'MIT',
  contextLength: 1024,
  files: [file],
};
const hub = { repository: 'o/r', revision: 'main', folder: 'f', approximateBytes: 1000 };
const remote: Variant = { ...stored, name: 'remote', files: [], hub };
const server: Variant = {
  ...stored,
  engine: 'upstream',
  name: 'server',
  baseUrl: 'https://a.example',
  model: 'm',
};
const catalog: Catalog = {
  ownedBy: 'us',
  models: [{ id: 'm', kind: 'chat', created: 0, variants: [stored, remote, server] }],
};

test('time counts what is not stored; without a known speed there is none', async () => {
  const store = openStore(new MemoryBackend(), 'http://site.invalid/models/');
  const sources = new WeightSources(Promise.resolve(store), 'http://site.invalid/models/');
  const estimates = new Estimates(sources, { bytesPerSecond: 100 });
  await estimates.refresh(catalog);
  expect(estimates.of(stored)).toMatchObject({ downloadBytes: 12, downloadSeconds: 1 });
  expect(estimates.of(remote)).toMatchObject({ downloadBytes: 1000, downloadSeconds: 10 });
  expect(estimates.of(server)).toBeNull();

  await store.put([file], blob, new AbortController().signal);
  await estimates.refreshOne(stored);
  expect(estimates.of(stored)).toMatchObject({ downloadBytes: 0, downloadSeconds: 0 });

  const unknown = new Estimates(sources, new DownloadRate({}));
  expect(unknown.of(remote)).not.toHaveProperty('downloadSeconds');
});
