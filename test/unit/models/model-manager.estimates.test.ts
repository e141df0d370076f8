import { expect, test } from 'vitest';

import type { Variant } from '../../../src/catalog/catalog.ts';
import { ENGINES } from '../../../src/engines/index.ts';
import type { Engine } from '../../../src/engine-kit/engine.ts';
import { createEstimates } from '../../../src/models/memory-budget.ts';
import { DownloadRate } from '../../../src/weights/download/download-rate.ts';
import { VariantFiles } from '../../../src/weights/sources/variant-files.ts';
import { MemoryBackend } from '../../../src/weights/backends/open-backend.ts';
import { bring, openStore } from '../weights/open-store.ts';
import { hashBlob } from '../../../src/weights/integrity/integrity-record.ts';
import { createModelManager } from '../../support/create-model-manager.ts';
import { catalogOf, ggufVariant, modelOf, serverVariant } from '../../support/catalogs.ts';

const blob = new Blob(['some weights']);
const file = { path: 'a.gguf', bytes: blob.size, sha256: (await hashBlob(blob)).sha256 };
const stored = ggufVariant('stored', { files: [file] });
const hub = { repository: 'o/r', revision: 'main', folder: 'f', approximateBytes: 1000 };
const remote: Variant = { ...stored, name: 'remote', files: [], hub };
const estimate = { memoryBytes: 3, promptStateBytes: 1, downloadBytes: 2 };
const catalog = catalogOf(modelOf('m', [stored, remote, serverVariant('server', 'https://a.example')]));

test('time counts what is not stored; without a known speed there is none', async () => {
  const store = openStore(new MemoryBackend(), 'http://site.invalid/models/');
  const sources = new VariantFiles(() => Promise.resolve(store), 'http://site.invalid/models/');
  const estimates = createEstimates({ files: sources, rate: { bytesPerSecond: 100 }, engines: ENGINES });
  await estimates.refresh(catalog);
  expect(estimates.known.get('stored')).toMatchObject({ downloadBytes: 12, downloadSeconds: 1 });
  expect(estimates.known.get('remote')).toMatchObject({ downloadBytes: 1000, downloadSeconds: 10 });
  expect(estimates.known.has('server')).toBe(false);

  await bring(store, file, blob);
  await estimates.refresh(catalog);
  expect(estimates.known.get('stored')).toMatchObject({ downloadBytes: 0, downloadSeconds: 0 });

  const unknown = createEstimates({ files: sources, rate: new DownloadRate({}), engines: ENGINES });
  await unknown.refresh(catalog);
  expect(unknown.known.get('remote')).toBeDefined();
  expect(unknown.known.get('remote')).not.toHaveProperty('downloadSeconds');
});

test('the status has the estimates of all variants, and where the files of a loaded one came from', async () => {
  const engine = {
    fingerprint: 'f',
    slots: 1,
    kind: 'chat',
    traits: {},
    run: () => Promise.reject(new Error('not here')),
  };
  const manager = createModelManager({
    catalog,
    load: async ({ files }, { onFile }) => {
      for (const { path } of files) onFile?.(path, 'disk');
      return { ...engine, unload: async () => undefined } as unknown as Engine;
    },
    variantDetails: { estimates: new Map(Object.entries({ stored: estimate, remote: estimate })) },
  });
  expect(manager.status()[0]).toMatchObject({ estimates: { stored: estimate, remote: estimate } });
  expect(manager.status()[0]).not.toHaveProperty('files');
  await manager.ready('m', new AbortController().signal);
  expect(manager.status()[0]).toMatchObject({ files: { 'a.gguf': 'disk' } });
});
