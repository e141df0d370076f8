import { createServer } from 'node:http';
import { beforeEach, expect, test, vi } from 'vitest';

import { type AddedModelRecord, withAdded } from '../../../../src/catalog/added-models.ts';
import type { Catalog } from '../../../../src/catalog/catalog.ts';
import { ggufFormat } from '../../../../src/engines/wllama/gguf-format.ts';
import type { ModelSource } from '../../../../src/protocol/weights-command.ts';
import { VariantFiles } from '../../../../src/weights/sources/variant-files.ts';
import { ModelHub } from '../../../support/model-hub.ts';
import { chatMetadata, type GgufMetadata, oneTensor, writeGguf } from '../../../support/write-gguf.ts';
import { weightsService } from '../weights-service.ts';
import { adderOf } from './adder-of.ts';
import { listen } from '../../../support/listen.ts';

vi.mock('../../../../src/chat-template/prompt-renderer.ts', () => import('./template-without-worker.ts'));

const catalog: Catalog = { ownedBy: 'us', models: [] };
const gguf = (name: string, more: GgufMetadata = {}) =>
  writeGguf({ metadata: { ...chatMetadata, 'general.name': name, ...more }, tensors: [oneTensor] });
/** The second part of a model. */
const part = (metadata: Record<string, number>, name: string) =>
  writeGguf({ metadata: { 'split.count': 2, ...metadata }, tensors: [{ ...oneTensor, name }] });
const hashOf = (bytes: Buffer): string => hub.hashOf(bytes);

let hub: ModelHub;
let service: ReturnType<typeof weightsService>;
const saved: AddedModelRecord[] = [];

beforeEach(async () => {
  hub = await ModelHub.start();
  service = weightsService(catalog);
});

const publish = (repository: string, files: Record<string, Buffer>): string => hub.publish(repository, files);

function adderFor(allowed = true) {
  saved.length = 0;
  const variantFiles = new VariantFiles(service.store, hub.url, { hub: allowed && hub.url });
  return adderOf(catalog, service, saved, { variantFiles });
}

const add = (source: ModelSource, allowed = true) =>
  adderFor(allowed).add({ type: 'add', id: null, source }, new AbortController().signal, () => undefined);
const fromHub = (file: string | null = null, allowed = true) =>
  add({ type: 'hub', repository: 'owner/name', file, revision: null }, allowed);

test('a model at a URL is checked, downloaded and held to its hash', async () => {
  const bytes = gguf('From a URL');
  publish('a/b', { 'a model.gguf': bytes });
  const url = `${hub.url}/a/b/resolve/main/a%20model.gguf`;
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
  ['is not there', { path: 'none.gguf' }, /could not be read: the server answered 404/],
  ['has another hash', { sha256: 'a'.repeat(64) }, /does not have the size or SHA-256 that was given/],
  ['is no GGUF', { path: 'page.gguf' }, /page\.gguf is not a GGUF\. Choose another file/],
])(
  'a URL whose file %s is refused, and nothing is stored',
  async (_, { path = 'a.gguf', sha256 }, message) => {
    const bytes = gguf('A');
    publish('a/b', { 'a.gguf': bytes, 'page.gguf': Buffer.from('<html>a page that is no model</html>') });
    const url = `${hub.url}/a/b/resolve/main/${path}`;
    const source: ModelSource = { type: 'url', url, sha256: sha256 ?? hashOf(bytes) };
    await expect(add(source)).rejects.toThrow(message);
    expect([...service.backend.files.keys()]).toEqual([]);
  },
);

test.each([
  'http://[',
  'https:',
  'ftp://host/a.gguf',
  'http://user:secret@host/a.gguf',
  `x:${'x'.repeat(300)}`,
])('what is no URL of a file is named as that: %s', async (url) => {
  const refused = await add({ type: 'url', url, sha256: 'a'.repeat(64) }).catch((error: unknown) => error);
  expect(refused).toMatchObject({ wire: { status: 400, code: 'invalid_value', param: 'source' } });
  expect((refused as Error).message).toMatch(/^The URL of a model's file must begin with/);
});

test('the only model of a repository is added, pinned to its commit', async () => {
  const files = { 'README.md': Buffer.from('#'), 'm-Q8_0.gguf': gguf('Of the hub') };
  const commit = publish('owner/name', files);
  expect(await fromHub()).toMatchObject({ id: 'of-the-hub' });
  expect(saved[0]?.variant.files[0]?.url).toBe(`${hub.url}/owner/name/resolve/${commit}/m-Q8_0.gguf`);
});

const projector = (type: string, padding = ''): Buffer =>
  writeGguf({
    metadata: { 'general.architecture': 'clip', 'clip.projector_type': type, padding },
    tensors: [{ ...oneTensor, name: 'v.patch_embd.weight' }],
  });

test('the smallest projector of a repository comes with its model', async () => {
  const [model, eyes] = [gguf('Of the hub'), projector('idefics3')];
  const files = { 'mmproj-f16.gguf': projector('idefics3', 'x'.repeat(100)), 'mmproj-Q8_0.gguf': eyes };
  publish('owner/name', { ...files, 'm-Q8_0.gguf': model });
  expect(await fromHub()).toMatchObject({ id: 'of-the-hub', bytes: model.length + eyes.length });
  const stored = saved[0]?.variant.files.map(({ url, role }) => [url?.split('/').at(-1), role]);
  expect(stored).toEqual([
    ['m-Q8_0.gguf', undefined],
    ['mmproj-Q8_0.gguf', 'projector'],
  ]);
});

test('the sampling settings of a file are those of its model, and come before the usual ones', async () => {
  publish('owner/name', { 'm-Q8_0.gguf': gguf('Of the hub', { 'general.sampling.top_k': 20 }) });
  await fromHub();
  expect(saved[0]?.variant).toMatchObject({ sampling: { topK: 20, minP: 0.05 } });
});

test('the temperature and top_p of a file are for requests that name none', async () => {
  const sampling = { 'general.sampling.temp': { f32: 0.5 }, 'general.sampling.top_p': { f32: 0.75 } };
  publish('owner/name', { 'm-Q8_0.gguf': gguf('Of the hub', sampling) });
  await fromHub();
  expect(withAdded(catalog, saved).models[0]?.defaults).toEqual({ temperature: 0.5, topP: 0.75 });
});

test('an importance matrix is no model of its repository', async () => {
  publish('owner/name', {
    'm-imatrix.gguf': writeGguf({ metadata: { 'general.type': 'imatrix' } }),
    'm-imatrix-Q8_0.gguf': gguf('Of the hub'),
  });
  expect(await fromHub()).toMatchObject({ id: 'of-the-hub' });
});

test.each([
  ['of a kind that is not supported', projector('gemma3')],
  ['that is none', gguf('Image')],
])('a projector %s is left out', async (_, file) => {
  const model = gguf('Of the hub');
  publish('owner/name', { 'mmproj-m.gguf': file, 'm-Q8_0.gguf': model });
  expect(await fromHub()).toMatchObject({ bytes: model.length });
  expect(saved[0]?.variant.files).toHaveLength(1);
});

test('all parts of a split model are added, by the name of one or by its quantization', async () => {
  const first = gguf('Split', { 'split.count': 2, 'split.no': 0 });
  const second = part({ 'split.no': 1 }, 'output.weight');
  publish('owner/name', {
    'm-Q4_K_M-00001-of-00002.gguf': first,
    'm-Q4_K_M-00002-of-00002.gguf': second,
    'm-Q8_0.gguf': gguf('Whole'),
  });
  await expect(fromHub()).rejects.toThrow(
    /^owner\/name has 2 models: m-Q8_0\.gguf \(0 MB\), m-Q4_K_M\.gguf \(0 MB\)\. Name one/,
  );
  expect(await fromHub('q4_k_m')).toMatchObject({ bytes: first.length + second.length });
  expect(saved[0]?.variant.files).toHaveLength(2);
});

test.each<[string, Record<string, number>, Buffer[], RegExp]>([
  ['share a tensor', {}, [part({ 'split.no': 1 }, oneTensor.name)], /00002-of-00002.* of another part/],
  [
    'lack tensors',
    { 'split.tensors.count': 3 },
    [part({ 'split.no': 1 }, 'b')],
    /have 3 tensors, and they have 2/,
  ],
  ['lack a part', {}, [], /a model of 2 files, and 1 were given/],
  ['have a number', {}, [part({ 'split.no': 0 }, 'b')], /general\.architecture|no architecture|a model of 2/],
  ['are of another number', {}, [part({ 'split.no': 1, 'split.count': 3 }, 'b')], /a model of 2 files/],
])('parts that %s are refused before any is downloaded', async (_, metadata, others, message) => {
  const first = gguf('Split', { 'split.count': 2, 'split.no': 0, ...metadata });
  const parts = [first, ...others].map((bytes, at) => [`m-0000${at + 1}-of-00002.gguf`, bytes] as const);
  publish('owner/name', Object.fromEntries(parts));
  await expect(fromHub()).rejects.toMatchObject({
    wire: { status: 400, code: 'invalid_model_file', message: expect.stringMatching(message) as string },
  });
  expect([...service.backend.files.keys()]).toEqual([]);
});

test('a URL whose last part escapes nothing names the file as it is', async () => {
  const bytes = gguf('A');
  const server = createServer((_, response) => response.end(bytes));
  const url = `${await listen(server)}/a%ZZ.gguf`;
  expect(await add({ type: 'url', url, sha256: hashOf(bytes) })).toMatchObject({ id: 'a' });
  const message = expect.stringMatching(/^a%ZZ\.gguf does not have/) as string;
  await expect(add({ type: 'url', url, sha256: 'a'.repeat(64) })).rejects.toMatchObject({
    wire: { message },
  });
});

test.each<[string, (published: Buffer) => Buffer]>([
  ['another of the same size', (published) => Buffer.concat([published.subarray(0, -8), Buffer.alloc(8, 1)])],
  ['a longer file', (published) => Buffer.concat([published, Buffer.alloc(64)])],
  ['a shorter file', (published) => published.subarray(0, -8)],
  ['a web page', () => Buffer.from('<!doctype html><title>Log in</title>')],
])('a mirror that sends %s, not the one it lists, is refused, and nothing is stored', async (_, change) => {
  publish('owner/name', { 'a.gguf': gguf('A') });
  hub.sends = (content) => (typeof content === 'string' ? content : change(content));
  await expect(fromHub()).rejects.toMatchObject({ wire: { status: 400, code: 'invalid_model_file' } });
  expect([...service.backend.files.keys()]).toEqual([]);
});

test('a server that shows the header of another file is refused, and nothing is stored', async () => {
  publish('owner/name', { 'a.gguf': gguf('True') });
  hub.sends = (content) => (hub.asked.at(-1)?.includes('bytes=') ? gguf('Lies') : content);
  await expect(fromHub()).rejects.toThrow('sent another header of a.gguf');
  expect([...service.backend.files.keys()]).toEqual([]);
});

test('what a repository does not have, or does not give, is named', async () => {
  await expect(fromHub()).rejects.toThrow(/answered 401\. There is no such repository/);
  publish('owner/name', { 'a.gguf': gguf('A') });
  await expect(fromHub('b.gguf')).rejects.toThrow('owner/name has no model b.gguf: a.gguf (0 MB).');
  const hubSource = { type: 'hub', repository: 'owner/name', file: null, revision: null } as const;
  await expect(add({ ...hubSource, repository: '../name' })).rejects.toThrow('Use owner/name');
  await expect(add({ ...hubSource, revision: 'a/../b' })).rejects.toThrow('is not a revision');
  await expect(add({ ...hubSource, revision: 'v2' })).rejects.toThrow(
    /answered 404\..* no such branch, tag or commit/,
  );
  await expect(fromHub(null, false)).rejects.toThrow('does not use the model hub');
  publish('owner/text', { 'README.md': Buffer.from('#') });
  await expect(add({ ...hubSource, repository: 'owner/text' })).rejects.toThrow('has no GGUF file');
  const commit = hub.publish('owner/gated', { 'a.gguf': gguf('A') }, { gated: true });
  for (const revision of [null, commit]) {
    const gated = add({ ...hubSource, repository: 'owner/gated', revision });
    await expect(gated).rejects.toMatchObject({
      message: expect.stringMatching(
        /authors ask for consent .*Accept their terms .* add it from this device/,
      ),
      wire: { code: 'weights_unavailable' },
    });
  }
  expect([...service.backend.files.keys()]).toEqual([]);
});

test('the parts of a model are grouped soon, however many there are', () => {
  const files = Array.from({ length: 60_000 }, (_, index) => {
    const name = `a-${String(index).padStart(5, '0')}-of-60000.gguf`;
    return { name, url: `https://hub.example/${name}`, bytes: 1, sha256: 'a'.repeat(64) };
  });
  expect(ggufFormat.find(files, false)).toMatchObject([{ file: 'a.gguf', files: { length: 60_000 } }]);
});

test('the 500 smallest models of a repository are offered, and the storage is measured once', async () => {
  const estimate = vi.fn(async () => ({ quota: 1e9, usage: 0 }));
  vi.stubGlobal('navigator', { storage: { estimate } });
  const files = Array.from({ length: 600 }, (_, index) => {
    const name = `m${index}.gguf`;
    return { name, url: `https://hub.example/${name}`, bytes: index + 1, sha256: 'a'.repeat(64) };
  });
  const listed = { revision: 'main', isEmbedding: false, files };
  vi.spyOn(VariantFiles.prototype, 'repository').mockResolvedValueOnce(listed);
  const offers = await adderFor().offers(
    { repository: 'a/many', revision: null },
    new AbortController().signal,
  );
  vi.unstubAllGlobals();
  expect(offers).toHaveLength(500);
  expect(offers.at(-1)?.file).toBe('m499.gguf');
  expect(estimate).toHaveBeenCalledTimes(1);
});

test('a revision that was found before is kept to', async () => {
  const commit = publish('owner/name', { 'a.gguf': gguf('A') });
  await add({ type: 'hub', repository: 'owner/name', file: null, revision: commit });
  expect(hub.asked.some((path) => path.includes('/revision/'))).toBe(false);
});

test('a download that breaks off continues where it ended when the model is added again', async () => {
  const tensor = { ...oneTensor, shape: [32, 420_000], bytes: 34 * 420_000 };
  const bytes = writeGguf({ metadata: chatMetadata, tensors: [tensor] });
  publish('owner/name', { 'a.gguf': bytes });
  // The header comes first, and then one chunk of four.
  hub.fails = (answer) => answer > 1;
  await expect(fromHub()).rejects.toMatchObject({ wire: { code: 'weights_unavailable' } });
  const [unfinished] = await service.modelStorage.variants();
  expect(unfinished).toMatchObject({ state: 'part', storedBytes: 2 ** 22 });
  hub.fails = () => false;
  hub.asked.length = 0;
  await fromHub();
  expect(hub.asked.filter((path) => path.startsWith('/cdn') && path.includes('bytes=0-'))).toHaveLength(1);
  expect(await service.weights.missing(saved[0]?.variant.files ?? [])).toEqual([]);
});
