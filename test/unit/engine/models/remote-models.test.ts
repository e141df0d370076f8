import { createHash } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { withAdded, type AddedModelRecord } from '../../../../src/catalog/added-models.ts';
import type { Catalog } from '../../../../src/catalog/catalog.ts';
import { detectDevice } from '../../../../src/engine/device/detect-device.ts';
import { ModelAdder } from '../../../../src/engine/models/model-adder.ts';
import type { ModelSource } from '../../../../src/protocol/weights-messages.ts';
import { WeightSources } from '../../../../src/weights/sources/weight-sources.ts';
import { chatMetadata, oneTensor, writeGguf } from '../../../support/write-gguf.ts';
import { HubDouble } from '../../node/hub-double.ts';
import { weightsService } from '../../weights/weights-service.ts';

const catalog: Catalog = { ownedBy: 'us', models: [] };
const COMMIT = 'c'.repeat(40);
const gguf = (name: string, more: Record<string, number> = {}) =>
  writeGguf({ metadata: { ...chatMetadata, 'general.name': name, ...more }, tensors: [oneTensor] });
const hashOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

let hub: HubDouble;
let service: ReturnType<typeof weightsService>;
let saved: readonly AddedModelRecord[];

beforeEach(async () => {
  hub = await HubDouble.start();
  service = weightsService(catalog);
  saved = [];
});
afterEach(() => hub.stop());

/** Puts a repository on the hub, at one commit. */
function publish(repository: string, files: Record<string, Buffer>): void {
  const json = (value: unknown) => Buffer.from(JSON.stringify(value));
  hub.files.set(`/api/models/${repository}/revision/main`, json({ sha: COMMIT }));
  const tree = Object.entries(files).map(([path, bytes]) => ({
    type: 'file',
    path,
    size: bytes.length,
    lfs: { oid: hashOf(bytes), size: bytes.length },
  }));
  hub.files.set(`/api/models/${repository}/tree/${COMMIT}?recursive=true`, json(tree));
  for (const [path, bytes] of Object.entries(files))
    hub.files.set(`/${repository}/resolve/${COMMIT}/${path}`, bytes);
}

function add(source: ModelSource, allowed = true) {
  const adder = new ModelAdder({
    catalog,
    added: [],
    save: async (models) => void (saved = models),
    publish: (all) => service.modelStorage.setCatalog(all),
    store: service.store,
    sources: new WeightSources(service.store, hub.url, { hub: allowed && hub.url }),
    modelStorage: service.modelStorage,
    device: detectDevice({}),
  });
  service.modelStorage.setCatalog(withAdded(catalog, []));
  return adder.add({ type: 'add', id: null, source }, new AbortController().signal, () => undefined);
}
const fromHub = (file: string | null = null, allowed = true) =>
  add({ type: 'hub', repository: 'owner/name', file }, allowed);

test('a model at a URL is checked, downloaded and held to its hash', async () => {
  const bytes = gguf('From a URL');
  hub.files.set('/files/a%20model.gguf', bytes);
  const url = `${hub.url}/files/a%20model.gguf`;
  expect(await add({ type: 'url', url, sha256: hashOf(bytes).toUpperCase() })).toMatchObject({
    id: 'from-a-url',
    bytes: bytes.length,
  });
  expect(saved[0]?.variant.files).toEqual([
    { path: `added/${hashOf(bytes)}.gguf`, bytes: bytes.length, sha256: hashOf(bytes), url },
  ]);
  expect(await service.weights.missing(saved[0]?.variant.files ?? [])).toEqual([]);
});

test.each<[string, Partial<{ path: string; sha256: string }>, RegExp]>([
  ['is not there', { path: '/none.gguf' }, /could not be read: the server answered 404/],
  ['has another hash', { sha256: 'a'.repeat(64) }, /does not have the size or SHA-256 that was given/],
  ['is no GGUF', { path: '/page.gguf' }, /page\.gguf is not a GGUF/],
  ['has no hash', { sha256: 'abc' }, /`sha256` must be/],
])(
  'a URL whose file %s is refused, and nothing is stored',
  async (_, { path = '/a.gguf', sha256 }, message) => {
    const bytes = gguf('A');
    hub.files.set('/a.gguf', bytes);
    hub.files.set('/page.gguf', Buffer.from('<html>a page that is no model</html>'));
    const source: ModelSource = { type: 'url', url: hub.url + path, sha256: sha256 ?? hashOf(bytes) };
    await expect(add(source)).rejects.toThrow(message);
    expect([...service.backend.files.keys()]).toEqual([]);
  },
);

test('the only model of a repository is added, pinned to its commit; projectors are none', async () => {
  const bytes = gguf('Of the hub');
  publish('owner/name', { 'README.md': Buffer.from('#'), 'm-Q8_0.gguf': bytes, 'mmproj-m.gguf': bytes });
  expect(await fromHub()).toMatchObject({ id: 'of-the-hub' });
  expect(saved[0]?.variant.files[0]?.url).toBe(`${hub.url}/owner/name/resolve/${COMMIT}/m-Q8_0.gguf`);
});

test('all parts of a split model are added, by the name of one or by its quantization', async () => {
  const first = gguf('Split', { 'split.count': 2, 'split.no': 0 });
  const second = writeGguf({ metadata: { 'split.count': 2, 'split.no': 1 }, tensors: [oneTensor] });
  publish('owner/name', {
    'm-Q4_K_M-00001-of-00002.gguf': first,
    'm-Q4_K_M-00002-of-00002.gguf': second,
    'm-Q8_0.gguf': gguf('Whole'),
  });
  await expect(fromHub()).rejects.toThrow(
    /2 models .*: m-Q4_K_M\.gguf \(0 MB\), m-Q8_0\.gguf \(0 MB\)\. Name one/,
  );
  expect(await fromHub('q4_k_m')).toMatchObject({ bytes: first.length + second.length });
  expect(saved[0]?.variant.files).toHaveLength(2);
});

test('what a repository does not have is named', async () => {
  await expect(fromHub()).rejects.toThrow(/answered 404 .* There is no such repository/);
  publish('owner/name', { 'a.gguf': gguf('A') });
  await expect(fromHub('b.gguf')).rejects.toThrow('owner/name has no model b.gguf: a.gguf (0 MB).');
  await expect(add({ type: 'hub', repository: '../name', file: null })).rejects.toThrow('Use owner/name');
  await expect(fromHub(null, false)).rejects.toThrow('does not use the model hub');
  expect([...service.backend.files.keys()]).toEqual([]);
});
