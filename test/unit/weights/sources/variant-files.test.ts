import { expect, test, vi } from 'vitest';

import type { Variant } from '../../../../src/catalog/catalog.ts';
import { defaultCatalog } from '../../../../src/catalog/default-catalog.ts';
import { VariantFiles } from '../../../../src/weights/sources/variant-files.ts';
import type { WeightStore } from '../../../../src/weights/weight-store.ts';
import { delay } from '../../../../src/base/async.ts';
import { MemoryBackend } from '../../../../src/weights/backends/open-backend.ts';
import { openStore } from '../open-store.ts';
import { virtualTime } from '../../../support/virtual-time.ts';

virtualTime();

const variant = defaultCatalog.models
  .flatMap(({ variants }) => variants)
  .find(({ hub, engine }) => hub && engine === 'wllama');
const { folder = '', files: names = [] } = variant?.hub ?? {};
const entry = { bytes: 1, sha256: 'a'.repeat(64) };
const manifest = { version: 1, files: Object.fromEntries(names.map((name) => [`${folder}/${name}`, entry])) };

/** Answers of a server, or of a network, that is not at its best. */
const FAULTS: Record<string, () => Promise<Response>> = {
  'no connection': () => Promise.reject(new TypeError('Failed to fetch')),
  'no answer in time': async () => {
    await delay(3000);
    throw new DOMException('late', 'TimeoutError');
  },
  'a 503': async () => new Response('busy', { status: 503 }),
  'a page': async () => new Response('<!doctype html>'),
  'a part': async () => new Response(JSON.stringify(manifest).slice(0, -5)),
};

test.for(Object.entries(FAULTS))('after %s, the manifest is asked for again', async ([, fault]) => {
  if (!variant) throw new Error('no variant of the default catalog is from the hub');
  const fetch = vi.fn(fault);
  vi.stubGlobal('fetch', fetch);
  const store = { notes: { note: () => Promise.resolve(null) } } as unknown as WeightStore;
  const sources = new VariantFiles(() => Promise.resolve(store), 'https://site.example/models/');
  const lacking = /not on this site/;
  // Several plans in a row ask once.
  for (let asked = 0; asked < 3; asked++) expect(await sources.fault(variant)).toMatch(lacking);
  expect(fetch).toHaveBeenCalledTimes(1);
  fetch.mockImplementation(async () => Response.json(manifest));
  await delay(61_000);
  const answers = await Promise.all([sources.fault(variant), sources.fault(variant)]);
  expect(answers).toEqual([undefined, undefined]);
  await delay(61_000);
  expect(await sources.files(variant)).toHaveLength(names.length);
  expect(fetch).toHaveBeenCalledTimes(2);
});

/** Sources of a site without a manifest, whose model hub answers as `fetch` does. */
function sourcesWithHub(fetch: (url: string) => Promise<Response>) {
  vi.stubGlobal('fetch', (url: string | URL) =>
    String(url).startsWith('https://hub.example/')
      ? fetch(String(url))
      : Promise.resolve(new Response('', { status: 404 })),
  );
  const store = { notes: { note: () => Promise.resolve(null) } } as unknown as WeightStore;
  return new VariantFiles(() => Promise.resolve(store), 'https://site.example/models/', {
    hub: 'https://hub.example',
  });
}

test('a hub that was out of reach is asked again at once when somebody tries again', async () => {
  if (!variant) throw new Error('no variant of the default catalog is from the hub');
  const hub = vi.fn(async () => Promise.reject<Response>(new TypeError('Failed to fetch')));
  const sources = sourcesWithHub(hub);
  for (let asked = 0; asked < 2; asked++) expect(await sources.fault(variant)).toMatch(/out of reach$/);
  expect(hub).toHaveBeenCalledTimes(1);
  hub.mockImplementation(async () => Response.json([]));
  sources.dropFailures();
  expect(await sources.fault(variant)).toBeUndefined();
  sources.dropFailures();
  expect(await sources.fault(variant)).toBeUndefined();
  expect(hub).toHaveBeenCalledTimes(2);
});

test('a hub that does not answer is asked again when somebody tries again', async () => {
  if (!variant) throw new Error('no variant of the default catalog is from the hub');
  const hub = vi.fn(() => new Promise<Response>(() => undefined));
  const sources = sourcesWithHub(hub);
  expect(await sources.fault(variant)).toMatch(/out of reach$/);
  hub.mockImplementation(async () => Response.json([]));
  sources.dropFailures();
  expect(await sources.fault(variant)).toBeUndefined();
});

test('a hub that answers late is in reach from its answer on', async () => {
  if (!variant) throw new Error('no variant of the default catalog is from the hub');
  const hub = vi.fn(async () => {
    await delay(2500);
    return Response.json([]);
  });
  const sources = sourcesWithHub(hub);
  const began = performance.now();
  expect(await sources.fault(variant)).toMatch(/out of reach$/);
  expect(await sources.fault(variant)).toMatch(/out of reach$/);
  expect(performance.now() - began).toBeLessThan(2000);
  await delay(1500);
  expect(await sources.fault(variant)).toBeUndefined();
  expect(hub).toHaveBeenCalledTimes(1);
});

test('the room for weights is as the storage is now, with the place that an unfinished file has taken', async () => {
  const file = { path: 'a.gguf', bytes: 10, sha256: 'a'.repeat(64) };
  const backend = new MemoryBackend();
  let free = 3;
  backend.free = async () => free;
  const store = () => Promise.resolve(openStore(backend, 'https://site.example/models/'));
  const sources = new VariantFiles(store, 'https://site.example/models/');
  const own: Variant = { ...common, files: [file] };
  expect(await sources.room(own)).toEqual({ needed: 10, free: 3 });
  free = 20;
  expect(await sources.room(own)).toEqual({ needed: 10, free: 20 });
  expect(await sources.room(pinned)).toEqual({ needed: 1, free: 20 });
  const writer = await backend.write(file.sha256);
  await writer.write(new Uint8Array(10), 0);
  expect((await sources.room(own)).needed).toBe(0);
});

const PIN = 'b'.repeat(64);
const hub = { repository: 'o/n', revision: 'main', folder: 'n', approximateBytes: 1, files: ['n.gguf'] };
const common = { name: 'n', engine: 'wllama' as const, license: 'MIT', contextLength: 1024, files: [] };
const pinned: Variant = { ...common, hub: { ...hub, sha256: { 'n.gguf': PIN } } };
const fileOf = (sha256: string) => ({ path: 'n/n.gguf', bytes: 1, sha256 });

/** Sources of a site with a manifest, and notes of the hub's answers and imports. */
function sourcesWith(inManifest: string | null, inNote: string | null) {
  const { path, ...known } = fileOf(inManifest ?? '');
  const files = inManifest === null ? {} : { [path]: known };
  vi.stubGlobal('fetch', async () => Response.json({ version: 1, files }));
  const keepNote = vi.fn(async () => undefined);
  const note = async () => (inNote === null ? null : [fileOf(inNote)]);
  const store = { notes: { note, keepNote } } as unknown as WeightStore;
  return {
    keepNote,
    sources: new VariantFiles(() => Promise.resolve(store), 'https://site.example/models/'),
  };
}

const OTHER = 'a'.repeat(64);
test.each([
  ['a manifest', PIN, null],
  ['a note', null, PIN],
  ['a note behind a manifest that has something else', OTHER, PIN],
])('%s has a file with the hash that the catalog pins', async (_, inManifest, inNote) => {
  expect(await sourcesWith(inManifest, inNote).sources.files(pinned)).toEqual([fileOf(PIN)]);
});

test.each([
  ['a manifest', OTHER, null],
  ['a note', null, OTHER],
])('%s with another hash than the catalog pins is ignored', async (_, inManifest, inNote) => {
  const { sources } = sourcesWith(inManifest, inNote);
  expect(await sources.files(pinned)).toBeNull();
  expect(await sources.files({ ...common, hub })).toEqual([fileOf(OTHER)]);
});

test('a description with another hash than the catalog pins is refused, and not kept', async () => {
  const { sources, keepNote } = sourcesWith(null, null);
  await expect(sources.keepFiles(pinned, [fileOf(OTHER)])).rejects.toMatchObject({
    wire: { status: 400, code: 'weights_conflict', param: 'import' },
  });
  expect(keepNote).not.toHaveBeenCalled();
  await sources.keepFiles(pinned, [fileOf(PIN)]);
  expect(keepNote).toHaveBeenCalledOnce();
});
