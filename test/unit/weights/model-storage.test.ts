import { expect, test, vi } from 'vitest';

import type { Catalog, Variant } from '../../../src/catalog/catalog.ts';
import { runCommand } from '../../../src/weights/commands.ts';
import { MemoryBackend } from '../../../src/weights/backends/open-backend.ts';
import { replace } from '../../../src/weights/backends/storage-backend.ts';
import type { WeightsCommand } from '../../../src/protocol/weights-command.ts';
import { WeightStore } from '../../../src/weights/weight-store.ts';
import { FakeLocks } from '../../support/fake-locks.ts';
import { DESCRIPTION_FILE } from '../../../src/protocol/weights-messages.ts';
import { fileOf, serveFile, someBytes } from './file-server.ts';
import { bring } from './open-store.ts';
import { weightsService } from './weights-service.ts';
import { never } from '../../support/never.ts';

const bytesOf = (text: string): Buffer<ArrayBuffer> => Buffer.from(text.padEnd(200, '.'));

const variant = (name: string, ...texts: string[]): Variant => ({
  engine: 'wllama',
  name,
  license: 'MIT',
  contextLength: 9,
  files: texts.map((text, index) => fileOf(bytesOf(text), `${name}/${index}.gguf`)),
});
const catalogOf = (...variants: Variant[]): Catalog => ({
  ownedBy: 'us',
  models: variants.map((each, index) => ({
    id: `model-${index}`,
    kind: 'chat',
    created: 0,
    variants: [each],
  })),
});

type Service = ReturnType<typeof weightsService>;
const ask = (service: Service, command: WeightsCommand) => runCommand(service, command, never);

/** Downloads a variant. */
async function store(service: Service, { name, files }: Variant, ...texts: string[]): Promise<void> {
  await service.modelStorage.note(name, files);
  for (const [index, file] of files.entries()) {
    vi.stubGlobal('fetch', async () => new Response(bytesOf(texts[index] ?? '')));
    await service.weights.file(file, { signal: never, onProgress: () => undefined });
  }
}

const states = async ({ modelStorage }: Service) =>
  (await modelStorage.variants()).map(({ variant: name, state, storedBytes }) => [name, state, storedBytes]);

test('lists what is here: whole, in part, absent', async () => {
  const catalog = catalogOf(variant('a', 'a'), variant('b', 'b0', 'b1'), variant('c', 'c'));
  const [a, b] = catalog.models.map(({ variants }) => variants[0]);
  if (!a || !b) throw new Error('no variants');
  const service = weightsService(catalog, { now: () => 42 });
  await store(service, a, 'a');
  await service.modelStorage.used(a);
  await store(service, { ...b, files: b.files.slice(0, 1) }, 'b0');
  const reply = await ask(service, { type: 'list' });
  expect(reply).toMatchObject({
    kind: 'memory',
    variants: [
      { variant: 'a', models: ['model-0'], state: 'whole', bytes: 200, storedBytes: 200, lastUsed: 42 },
      { variant: 'b', state: 'part', bytes: 400, storedBytes: 200, lastUsed: null },
      { variant: 'c', state: 'absent', storedBytes: 0 },
    ],
  });
});

test('deletes by variant or by model; files of others, of other apps and of a model that is being added stay', async () => {
  const shared = variant('a', 'same');
  const other = variant('b', 'b');
  const absent = variant('e', 'e');
  for (const { files } of [other, absent]) files.push(...shared.files);
  const added = variant('c', 'c');
  const adding = variant('d', 'd');
  const service = weightsService(catalogOf(shared, other, added, adding, absent));
  const elsewhere = new WeightStore(service.backend, 'http://site.test/', new FakeLocks().manager, '/other/');
  await store(service, shared, 'same');
  await store(service, other, 'b', 'same');
  await store(service, added, 'c');
  for (const file of added.files) await bring(elsewhere, file, new Blob([bytesOf('c')]));
  await store(service, adding, 'd');
  await service.modelStorage.unfinished.begin('added/d', adding.files);
  for (const target of ['model-1', 'c', 'd']) await ask(service, { type: 'delete', target });
  expect(await states(service)).toEqual([
    ['a', 'whole', 200],
    ['b', 'absent', 0],
    ['c', 'whole', 200],
    ['d', 'whole', 200],
    ['e', 'absent', 0],
    ['added/d', 'whole', 200],
  ]);
  const unfinished = (await service.modelStorage.variants()).at(-1);
  expect(unfinished?.inUse).toBe(true);
  await expect(service.modelStorage.delete(unfinished?.variant ?? '')).rejects.toThrow('is being loaded');
  await ask(service, { type: 'delete', target: 'a' });
  expect((await states(service))[0]).toEqual(['a', 'absent', 0]);
  await expect(ask(service, { type: 'delete', target: 'nope' })).rejects.toThrow(
    /There is no model or variant nope/,
  );
});

test('what answers requests is not deleted', async () => {
  const a = variant('a', 'a');
  const service = weightsService(catalogOf(a), { release: async () => false });
  await store(service, a, 'a');
  await expect(ask(service, { type: 'delete', target: 'a' })).rejects.toMatchObject({
    wire: { status: 400, code: 'weights_in_use' },
  });
  expect(await states(service)).toEqual([['a', 'whole', 200]]);
});

test('no room: the error says what is needed, what is free, and what could be deleted', async () => {
  const [a, b] = [variant('a', 'a'), variant('b', 'b')];
  const service = weightsService(catalogOf(a, b));
  await store(service, a, 'a');
  service.backend.free = async () => 50;
  const failure = ask(service, { type: 'import', name: '0.gguf', blob: new Blob([bytesOf('b')]) });
  await expect(failure).rejects.toMatchObject({
    message: expect.stringMatching(/200 bytes more are needed.*store 50\..*a \(200 bytes\)/) as string,
    wire: { code: 'storage_full' },
  });
});

test('where the site allows it, the least recently used goes, loaded ones last, and what is busy stays', async () => {
  const [a, b, c, d] = [variant('a', 'a'), variant('b', 'b'), variant('c', 'c'), variant('d', 'd')];
  let now = 0;
  const loaded = new Set(['a', 'c']);
  const backend = new MemoryBackend();
  const service = weightsService(catalogOf(a, b, c, d), {
    backend,
    evict: true,
    inUse: (name) => loaded.has(name),
    release: async (name) => loaded.delete(name) || true,
    isBusy: (name) => name === 'a',
    now: () => ++now,
  });
  for (const [each, text] of [
    [a, 'a'],
    [c, 'c'],
    [b, 'b'],
  ] as const) {
    await store(service, each, text);
    await service.modelStorage.used(each);
  }
  backend.free = async () => 50;
  for (const evicted of ['b', 'c']) {
    await service.modelStorage.makeRoom(d.files);
    expect(await states(service)).toContainEqual([evicted, 'absent', 0]);
  }
  await expect(service.modelStorage.makeRoom(d.files)).rejects.toThrow(/No model can be deleted/);
  expect((await states(service))[0]).toEqual(['a', 'whole', 200]);
});

test('what the user imported is not deleted for room, but named', async () => {
  const [a, b] = [variant('a', 'a'), variant('b', 'b')];
  const service = weightsService(catalogOf(a, b), { evict: true });
  await ask(service, { type: 'import', name: '0.gguf', blob: new Blob([bytesOf('a')]) });
  // A claim that was being written as the browser ended counts, too.
  for (const name of await service.backend.names(a.files[0]?.sha256 ?? ''))
    if (name.endsWith('.claim')) await replace(service.backend, name, '');
  await expect(service.modelStorage.makeRoom(b.files, true)).rejects.toThrow(/deleted: a \(200 bytes\)/);
  expect(await states(service)).toContainEqual(['a', 'whole', 200]);
});

test('a variant that is deleted while one of its files is imported names the file', async () => {
  const a = variant('a', 'a', 'b');
  const service = weightsService(catalogOf(a));
  await store(service, { ...a, files: a.files.slice(1) }, 'b');
  const read = vi.spyOn(Blob.prototype, 'arrayBuffer');
  read.mockImplementationOnce(async () => {
    await ask(service, { type: 'delete', target: 'a' });
    return new Uint8Array(bytesOf('a')).buffer;
  });
  await ask(service, { type: 'import', name: '0.gguf', blob: new Blob([bytesOf('a')]) });
  const index = await service.weights.notes.note('usage');
  expect(index).toMatchObject({ a: { files: a.files } });
});

test('the storage turns out to be full: the least recently used goes, one at a time, until none can', async () => {
  const [a, b, c, d] = [variant('a', 'a'), variant('b', 'b'), variant('c', 'c'), variant('d', 'd')];
  let now = 0;
  // The deletion of one of these two frees nothing.
  const twins = [d, { ...d, name: 'twin' }];
  const service = weightsService(catalogOf(a, b, c, ...twins), { evict: true, now: () => ++now });
  for (const [each, text] of [
    [d, 'd'],
    [b, 'b'],
    [a, 'a'],
  ] as const) {
    await store(service, each, text);
    await service.modelStorage.used(each);
  }
  await service.modelStorage.note('twin', d.files);
  const whole = async () =>
    (await states(service)).flatMap(([name, state]) => (state === 'whole' ? name : []));
  for (const left of [['a', 'b'], ['a'], []]) {
    await service.modelStorage.makeRoom(c.files, true);
    expect(await whole()).toEqual(left);
  }
  await expect(service.modelStorage.makeRoom(c.files, true)).rejects.toMatchObject({
    message: expect.stringMatching(/^200 bytes more are needed, .* full\. No model can be deleted/) as string,
    wire: { code: 'storage_full' },
  });
});

test('a part that has its whole room already needs no more', async () => {
  const a = variant('a', 'a');
  const service = weightsService(catalogOf(a));
  const writer = await service.backend.write(a.files[0]?.sha256 ?? '');
  await writer.write(new Uint8Array(200), 0);
  service.backend.free = async () => 0;
  expect(await service.weights.room(a.files)).toEqual({ needed: 0, free: null });
  await service.modelStorage.makeRoom(a.files);
});

test('a model goes out as files and comes in as files, where neither site nor hub can tell of it', async () => {
  const hub: Variant = {
    ...variant('h', 'x', 'y'),
    files: [],
    hub: { repository: 'o/h', revision: 'main', folder: 'h', approximateBytes: 400 },
  };
  const files = variant('h', 'x', 'y').files;
  const from = weightsService(catalogOf(hub));
  await from.variantFiles.keepFiles(hub, files);
  await store(from, { ...hub, files }, 'x', 'y');
  const described = await ask(from, { type: 'describe', target: 'model-0' });
  expect(described).toEqual({ version: 1, variant: 'h', files });

  const to = weightsService(catalogOf(hub));
  const importFile = (name: string, blob: Blob) => ask(to, { type: 'import', name, blob });
  await expect(importFile('0.gguf', new Blob([bytesOf('x')]))).rejects.toMatchObject({
    message: expect.stringMatching(/^0\.gguf \(200 bytes\) does not belong to a model/) as string,
    wire: { code: 'unknown_weights' },
  });
  await importFile(DESCRIPTION_FILE, new Blob([JSON.stringify(described)]));
  expect(await importFile('1.gguf', new Blob([bytesOf('y')]))).toEqual({ path: 'h/1.gguf', completed: [] });
  await expect(importFile('0.gguf', new Blob([bytesOf('z')]))).rejects.toThrow(/h\/0\.gguf|h\/1\.gguf/);
  expect(await importFile('0.gguf', new Blob([bytesOf('x')]))).toMatchObject({ completed: ['h'] });
  expect(await states(to)).toEqual([['h', 'whole', 400]]);
});

const hubVariant: Variant = {
  ...variant('h'),
  hub: { repository: 'o/h', revision: 'main', folder: 'h', approximateBytes: 400 },
};
const describing = (name: string, files: Variant['files']): WeightsCommand => {
  const text = JSON.stringify({ version: 1, variant: name, files });
  return { type: 'import', name: DESCRIPTION_FILE, blob: new Blob([text]) };
};

test('an imported description never replaces hashes that are known: the catalog’s, or kept ones', async () => {
  const pinned = variant('p', 'p');
  const service = weightsService(catalogOf(pinned, hubVariant));
  const planted = (name: string) => variant(name, 'planted').files;
  const conflict = { wire: { code: 'weights_conflict' } };
  await expect(ask(service, describing('p', planted('p')))).rejects.toMatchObject(conflict);
  await expect(ask(service, describing('p', [...pinned.files, ...planted('h')]))).rejects.toMatchObject(
    conflict,
  );
  await ask(service, describing('p', pinned.files));

  const files = variant('h', 'x').files;
  await ask(service, describing('h', files));
  await ask(service, describing('h', files));
  await expect(ask(service, describing('h', planted('h')))).rejects.toMatchObject(conflict);
  expect(await service.modelStorage.files('h')).toEqual(files);
  // A wrong one is not kept forever.
  await ask(service, { type: 'delete', target: 'h' });
  await ask(service, describing('h', planted('h')));
  expect(await service.modelStorage.files('h')).toEqual(planted('h'));
});

test('an imported description cannot place a file at another variant’s path', async () => {
  const pinned = variant('p', 'p');
  const service = weightsService(catalogOf(pinned, hubVariant));
  await expect(ask(service, describing('h', variant('p', 'planted').files))).rejects.toMatchObject({
    message: 'p/0.gguf is not a file of h. Its files are in h/.',
  });
  expect(await service.modelStorage.files('h')).toEqual([]);
});

test('what is not stored whole is not given out', async () => {
  const service = weightsService(catalogOf(variant('a', 'a')));
  await expect(ask(service, { type: 'describe', target: 'a' })).rejects.toMatchObject({
    wire: { code: 'weights_missing' },
  });
});

const descriptionOf = (name: string, path: string, bytes: number): string =>
  JSON.stringify({ version: 1, variant: name, files: [{ path, bytes, sha256: 'a'.repeat(64) }] });

test.each([
  ['is cut short', '{"version": 1, "vari', /is not JSON, or cut short/],
  ['climbs out of its folder', descriptionOf('a', '../x', 1), /files\.0\.path/],
  ['lies about a size', descriptionOf('a', 'x', -1), /files\.0\.bytes/],
  ['is of another catalog', descriptionOf('z', 'x', 1), /describes z/],
])('a description that %s is refused by its name', async (_, text, message) => {
  const service = weightsService(catalogOf(variant('a', 'a')));
  const failure = ask(service, { type: 'import', name: DESCRIPTION_FILE, blob: new Blob([text]) });
  await expect(failure).rejects.toThrow(message);
  await expect(failure).rejects.toThrow(DESCRIPTION_FILE);
});

test('an index that the browser cannot read for a while is not overwritten', async () => {
  const [a, b] = [variant('a', 'a'), variant('b', 'b')];
  const backend = new MemoryBackend();
  await store(weightsService(catalogOf(a), { backend }), a, 'a');
  const after = weightsService(catalogOf(a, b), { backend });
  const reading = vi
    .spyOn(Blob.prototype, 'text')
    .mockRejectedValue(new DOMException('', 'NotReadableError'));
  await expect(store(after, b, 'b')).rejects.toMatchObject({ code: 'storage_failed' });
  reading.mockRestore();
  await store(after, b, 'b');
  const index = await after.weights.notes.note('usage');
  expect(Object.keys(index as object)).toEqual(['a', 'b']);
});

test('a index that was torn is restarted; the weights stay', async () => {
  const a = variant('a', 'a');
  const backend = new MemoryBackend();
  const before = weightsService(catalogOf(a), { backend });
  await store(before, a, 'a');
  await before.modelStorage.used(a);
  await before.weights.notes.keepNote('usage', '{"a": {"models": 3');
  const after = weightsService(catalogOf(a), { backend });
  expect(await states(after)).toEqual([['a', 'whole', 200]]);
});

test('pause and cancel reach a download that is under way', async () => {
  const body = someBytes(9_000_000);
  const server = await serveFile({ body, delayMs: 50 });
  const a: Variant = { ...variant('a'), files: [fileOf(body)] };
  const service = weightsService(catalogOf(a), { url: server.url });
  const [file] = a.files;
  if (!file) throw new Error('no file');
  const outcome = Promise.allSettled([
    service.weights.file(file, { signal: never, onProgress: () => undefined }),
  ]);
  await ask(service, { type: 'pause', target: 'a' });
  expect((await service.modelStorage.variants())[0]).toMatchObject({ paused: true });
  await ask(service, { type: 'cancel', target: 'a' });
  expect((await outcome)[0]).toMatchObject({ reason: { wire: { code: 'download_cancelled' } } });
  expect(await states(service)).toEqual([['a', 'absent', 0]]);
});
