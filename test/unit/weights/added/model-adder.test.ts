import { setImmediate } from 'node:timers/promises';

import { beforeEach, expect, test, vi } from 'vitest';

import { type AddedModelRecord, withAdded } from '../../../../src/catalog/added-models.ts';
import type { Catalog } from '../../../../src/catalog/catalog.ts';
import type { Device } from '../../../../src/engine-kit/device.ts';
import { ModelAdder, type ModelAdderOptions } from '../../../../src/weights/added/model-adder.ts';
import { runCommand } from '../../../../src/weights/commands.ts';
import type { ModelSource, WeightsCommand } from '../../../../src/protocol/weights-command.ts';
import type { LoadProgress } from '../../../../src/protocol/status.ts';
import { chatMetadata, type GgufMetadata, oneTensor, writeGguf } from '../../../support/write-gguf.ts';
import { ggufVariant } from '../../../support/catalogs.ts';
import { fileOf } from '../file-server.ts';
import { weightsService } from '../weights-service.ts';
import { adderOf } from './adder-of.ts';
import { never } from '../../../support/never.ts';

vi.mock('../../../../src/chat-template/prompt-renderer.ts', () => import('./template-without-worker.ts'));

const catalog: Catalog = {
  ownedBy: 'us',
  models: [{ id: 'site-model', kind: 'chat', created: 0, variants: [] }],
  aliases: { 'site-alias': 'site-model' },
};
const device: Device = { gpu: null, memoryGiB: 2, cores: 2, saveData: false };
const gguf = (name: string, more: GgufMetadata = {}): Buffer<ArrayBuffer> =>
  writeGguf({ metadata: { ...chatMetadata, 'general.name': name, ...more }, tensors: [oneTensor] });

/** What a page has, by the ticket. */
const given = new Map<string, Blob[]>();

function source(...files: Buffer<ArrayBuffer>[]): Extract<ModelSource, { type: 'files' }> {
  const ticket = `ticket-${given.size}`;
  given.set(
    ticket,
    files.map((bytes) => new Blob([bytes])),
  );
  return { type: 'files', names: files.map((_, index) => `part-${index}.gguf`), ticket };
}

const saved: AddedModelRecord[] = [];
let service: ReturnType<typeof weightsService>;
let adder: ModelAdder;

const open = (options: Partial<ModelAdderOptions> = {}) =>
  adderOf(catalog, service, saved, {
    device: Promise.resolve(device),
    requestFiles: async (ticket) => given.get(ticket) ?? null,
    ...options,
  });

beforeEach(() => {
  saved.length = 0;
  service = weightsService(catalog);
  adder = open();
});

const add = (from: ModelSource, id: string | null = null, progress: LoadProgress[] = []) =>
  adder.add({ type: 'add', id, source: from }, never, (each) => progress.push(each));

test('a model is stored under its hash, and described', async () => {
  vi.spyOn(Date, 'now').mockReturnValue(5000);
  const progress: LoadProgress[] = [];
  const bytes = gguf('Tiny Llama 3');
  expect(await add(source(bytes), null, progress)).toEqual({
    id: 'tiny-llama-3',
    name: 'Tiny Llama 3',
    architecture: 'llama',
    quantization: 'Q8_0',
    contextLength: 4096,
    bytes: bytes.length,
    memoryBytes: expect.any(Number) as number,
    created: 5,
  });
  const [record] = saved;
  expect(record?.variant).toMatchObject({ engine: 'wllama', license: 'mit', contextLength: 4096 });
  const stored = await service.weights.missing(record?.variant.files ?? []);
  expect(stored).toEqual([]);
  expect(progress.at(-1)).toMatchObject({
    phase: 'copy',
    loadedBytes: bytes.length,
    totalBytes: bytes.length,
  });
  expect([...service.backend.files.keys()]).not.toContain('adding');
});

test('its parts are put into their order', async () => {
  const first = gguf('Split', { 'split.count': 2, 'split.no': 0 });
  const metadata = { 'split.count': 2, 'split.no': 1 };
  const second = writeGguf({ metadata, tensors: [{ ...oneTensor, name: 'output.weight' }] });
  await add(source(second, first));
  expect(saved[0]?.variant.files.map(({ bytes }) => bytes)).toEqual([first.length, second.length]);
  await expect(add(source(first))).rejects.toThrow(/part of a model of 2 files, and 1 were given/);
});

test('the same model again is the same, also with its record cleared; under another id it is refused', async () => {
  await add(source(gguf('Once')));
  saved.length = 0;
  const model = await add(source(gguf('Twice')));
  expect(await add(source(gguf('Twice')))).toEqual(model);
  await expect(add(source(gguf('Twice')), 'other')).rejects.toMatchObject({ wire: { code: 'model_exists' } });
  expect(saved).toHaveLength(1);
});

test('models of one name get separate ids, and never one of the catalog', async () => {
  const first = await add(source(gguf('site model')));
  const second = await add(source(gguf('Site Model', { 'llama.block_count': 3 })));
  expect([first.id, second.id]).toEqual(['site-model-2', 'site-model-3']);
  for (const taken of ['site-model', 'site-alias', 'site-model-2']) {
    const refused = add(source(gguf('another one')), taken);
    await expect(refused, taken).rejects.toMatchObject({ wire: { code: 'model_id_taken', param: 'id' } });
    const renamed = adder.rename('site-model-3', taken);
    await expect(renamed, taken).rejects.toMatchObject({ wire: { code: 'model_id_taken' } });
  }
  await expect(add(source(gguf('x')), '../up')).rejects.toMatchObject({ wire: { code: 'invalid_value' } });
});

test('a catalog that takes the id later keeps its meaning, and the file of the user stays', async () => {
  await add(source(gguf('Mine')), 'mine');
  const [mine] = saved;
  if (!mine) throw new Error('nothing was added');
  const files = [{ path: 'site.gguf', bytes: 9, sha256: 'a'.repeat(64) }];
  const site = { ...mine.variant, name: 'site', files };
  const later = {
    ...catalog,
    models: [...catalog.models, { id: 'mine', kind: 'chat' as const, created: 1, variants: [site] }],
  };
  expect(withAdded(later, saved)).toBe(later);
  adder = adderOf(later, service, saved);
  await service.modelStorage.used(site);
  const listed = await service.modelStorage.variants();
  expect(listed).toContainEqual(expect.objectContaining({ variant: mine.variant.name, state: 'whole' }));
  expect(await service.weights.missing(mine.variant.files)).toEqual([]);
  expect(withAdded(catalog, saved).models.map(({ id }) => id)).toEqual(['site-model', 'mine']);
});

test('changes at one time are all kept', async () => {
  adder = open({
    save: async (models) => {
      await setImmediate();
      saved.splice(0, saved.length, ...models);
    },
  });
  await add(source(gguf('a')));
  await add(source(gguf('b')));
  await Promise.all([adder.rename('a', 'c'), adder.delete('b'), add(source(gguf('d')))]);
  expect(saved.map(({ model }) => model.id)).toEqual(['c', 'd']);
  const renames = await Promise.allSettled(['c', 'd'].map((id) => adder.rename(id, 'same')));
  expect(renames.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
});

test('an add whose files do not come holds up no other, and adds of one model give the same', async () => {
  adder = open({ requestFiles: async (ticket) => given.get(ticket) ?? new Promise(() => undefined) });
  void add({ type: 'files', names: ['a.gguf'], ticket: 'never' });
  const [first, second] = await Promise.all([add(source(gguf('a'))), add(source(gguf('a')))]);
  expect(second).toEqual(first);
  expect(await service.weights.missing(saved.flatMap(({ variant }) => variant.files))).toEqual([]);
});

test('renamed and removed, nothing of it stays', async () => {
  const before = [...service.backend.files.keys()];
  await add(source(gguf('Gone')));
  await adder.rename('gone', 'soon-gone');
  expect(saved.map(({ model }) => model.id)).toEqual(['soon-gone']);
  const command = { type: 'delete', target: saved[0]?.variant.name ?? '' } as const;
  await runCommand({ ...service, adder }, command, never);
  expect(saved).toEqual([]);
  expect([...service.backend.files.keys()]).toEqual(before);
  await expect(adder.delete('site-model')).rejects.toMatchObject({ wire: { code: 'model_not_added' } });
});

test('what is too large for the memory is refused before it is stored; a shorter context may fit', async () => {
  const wide = { 'llama.block_count': 200, 'llama.embedding_length': 8192, 'llama.attention.head_count': 64 };
  const { contextLength } = await add(source(gguf('Long', { ...wide, 'llama.attention.head_count_kv': 8 })));
  expect(contextLength).toBeLessThan(4096);
  const before = [...service.backend.files.keys()];
  const huge = gguf('Huge', { ...wide, 'llama.attention.head_count_kv': 64 });
  const refused = add(source(huge));
  await expect(refused).rejects.toMatchObject({ wire: { code: 'unsupported_model' } });
  await expect(refused).rejects.toThrow(/Huge needs .* of memory, and this device has about 2 GB/);
  expect([...service.backend.files.keys()]).toEqual(before);
});

test('a model whose layers have different numbers of heads is sized by all of them', async () => {
  const wide = { 'llama.block_count': 200, 'llama.embedding_length': 8192, 'llama.attention.head_count': 64 };
  const kv = Array.from({ length: 200 }, (_, layer) => (layer % 20 === 0 ? 8 : 0));
  const { contextLength } = await add(
    source(gguf('Hybrid', { ...wide, 'llama.attention.head_count_kv': { i32s: kv } })),
  );
  expect(contextLength).toBe(4096);
  const variant = saved.find(({ model }) => model.id === 'hybrid')?.variant;
  expect(variant).toMatchObject({ kvValues: 10 * 8 * 256 });
});

test('a storage that gives less than it reports: nothing stays', async () => {
  const { write } = service.backend;
  service.backend.write = async (name) => ({
    ...(await write.call(service.backend, name)),
    resize: async (bytes) => {
      if (bytes > 300) throw new DOMException('full', 'QuotaExceededError');
    },
  });
  await expect(add(source(gguf('Big')))).rejects.toMatchObject({ wire: { code: 'storage_full' } });
  expect([...service.backend.files.keys()]).toEqual([]);
});

test('a list that does not fit keeps no model from being removed', async () => {
  const { bytes } = await add(source(gguf('Old')));
  const save = async (models: readonly AddedModelRecord[]) => {
    const files = [...service.backend.files.values()];
    if (files.some(({ size }) => size === bytes)) throw new DOMException('full', 'QuotaExceededError');
    saved.splice(0, saved.length, ...models);
  };
  await open({ save }).delete('old');
  expect([[...service.backend.files.keys()], saved]).toEqual([[], []]);
});

test('a chat template that loops is refused before anything is written', async () => {
  const loop = '{% for i in range(10000000000) %}x{% endfor %}';
  const refused = add(source(gguf('Looping', { 'tokenizer.chat_template': loop })));
  await expect(refused).rejects.toMatchObject({
    message: expect.stringMatching(/Looping has a chat template that cannot be used: its range/),
    wire: { status: 400, code: 'unsupported_model' },
  });
  expect([...service.backend.files.keys()]).toEqual([]);
});

test('a model of more memory than WebAssembly has is refused, unless a GPU holds the weights', async () => {
  const roomy = { ...device, memoryGiB: 16 };
  const huge = { 'llama.context_length': 8192, 'llama.block_count': 500, 'llama.embedding_length': 8192 };
  adder = open({ device: Promise.resolve(roomy) });
  const from = source(gguf('Huge', { ...huge, 'llama.attention.head_count_kv': 4 }));
  await expect(add(from)).rejects.toThrow(/WebAssembly has at most 4\.3 GB .* Choose a smaller model/);
  const gpu = { name: 'a GPU', fallback: false, features: ['shader-f16'] };
  adder = open({ device: Promise.resolve({ ...roomy, gpu }) });
  expect(await add(from)).toMatchObject({ id: 'huge' });
});

test('a storage that is too small is told before anything is written', async () => {
  service.backend.free = async () => 10;
  await expect(add(source(gguf('Big')))).rejects.toMatchObject({ wire: { code: 'storage_full' } });
  expect([...service.backend.files.keys()]).toEqual([]);
});

test.each<[string, ModelSource]>([
  ['no GGUF', source(Buffer.from('some text that is no GGUF at all'))],
  ['cut short', source(gguf('Cut').subarray(0, -40))],
  ['two models', source(gguf('A'), gguf('B'))],
  ['not there any more', { ...source(gguf('A')), ticket: 'of a page that was closed' }],
])('a file that is %s is refused, and nothing is stored', async (_, from) => {
  await expect(add(from)).rejects.toMatchObject({ wire: { status: 400, code: 'invalid_model_file' } });
  expect([...service.backend.files.keys()]).toEqual([]);
});

/** Model of four chunks. */
const large = (name: string): Buffer<ArrayBuffer> =>
  writeGguf({
    metadata: { ...chatMetadata, 'general.name': name },
    tensors: [{ ...oneTensor, shape: [32, 420_000], bytes: 34 * 420_000 }],
  });

/** Aborts it once so many bytes, of twice its length, have been read. */
async function interrupt(bytes: Buffer<ArrayBuffer>, share: number): Promise<void> {
  const stop = new AbortController();
  const adding = adder.add({ type: 'add', id: null, source: source(bytes) }, stop.signal, (progress) => {
    if (progress.loadedBytes > share * bytes.length) stop.abort();
  });
  await expect(adding).rejects.toThrow('aborted');
}

test('an add that is aborted continues where it ended when the file is added again, also by another engine', async () => {
  const bytes = large('Stopped');
  await interrupt(bytes, 0.6);
  const [unfinished] = await service.modelStorage.variants();
  expect(unfinished).toMatchObject({ variant: expect.stringMatching(/^added\/stopped-/), state: 'part' });
  expect(unfinished?.storedBytes).toBeGreaterThanOrEqual(2 ** 22);
  expect(saved).toEqual([]);
  adder = open();
  const progress: LoadProgress[] = [];
  const written: number[] = [];
  const { write } = service.backend;
  service.backend.write = async (name) => {
    const writer = await write.call(service.backend, name);
    const put = writer.write.bind(writer);
    if (/^[0-9a-f]{64}$/.test(name))
      writer.write = async (chunk, at) => {
        written.push(at);
        await put(chunk, at);
      };
    return writer;
  };
  expect(await add(source(bytes), null, progress)).toMatchObject({ id: 'stopped' });
  expect(written).not.toContain(0);
  expect(written.length).toBeGreaterThan(0);
  expect(await service.weights.missing(saved[0]?.variant.files ?? [])).toEqual([]);
  expect((await service.modelStorage.variants()).map(({ variant }) => variant)).toEqual([
    saved[0]?.variant.name,
  ]);
});

test.each([
  ['is aborted after its last byte', '', ''],
  ['cannot be saved', 'UnknownError', 'storage_unavailable'],
  ['does not fit', 'QuotaExceededError', 'storage_full'],
])('an add that %s keeps the file', async (_, name, code) => {
  const bytes = large('Late');
  if (name) {
    adder = open({ save: () => Promise.reject(new DOMException('no', name)) });
    await expect(add(source(bytes))).rejects.toMatchObject({ wire: { code } });
    adder = open();
  } else await interrupt(bytes, 0.999);
  expect(saved).toEqual([]);
  expect(await service.modelStorage.variants()).toMatchObject([
    { variant: expect.stringMatching(/^added\/late-/), state: 'whole' },
  ]);
  expect(await add(source(bytes))).toMatchObject({ id: 'late' });
});

test('what stays of an interrupted add can be deleted, and goes when its room is needed', async () => {
  await interrupt(large('Deleted'), 0.6);
  const [unfinished] = await service.modelStorage.variants();
  await service.modelStorage.delete(unfinished?.variant ?? '');
  expect([...service.backend.files.keys()]).toEqual([]);

  await interrupt(large('In the way'), 0.6);
  service.backend.free = async () => (service.backend.files.size > 2 ? 10 : 1e9);
  await add(source(gguf('Small')));
  expect(saved.map(({ model }) => model.id)).toEqual(['small']);
});

test('a file that changes while it is copied is refused, and nothing stays', async () => {
  const bytes = gguf('Changing');
  const from = source(bytes);
  let reads = 0;
  const blob = new Blob([bytes]);
  // The header, what is hashed, and what is copied.
  blob.slice = (...at) =>
    ++reads > 2 ? new Blob([Buffer.alloc(bytes.length)]) : Blob.prototype.slice.apply(blob, at);
  given.set(from.ticket, [blob]);
  await expect(add(from)).rejects.toMatchObject({ wire: { code: 'invalid_model_file' } });
  expect([[...service.backend.files.keys()], saved]).toEqual([[], []]);
});

test('the files of an added model are never deleted to make room for others', async () => {
  const evicting = weightsService(catalog, { evict: true });
  service = evicting;
  adder = open();
  const { memoryBytes } = await add(source(gguf('Kept')));
  expect(memoryBytes).toBeGreaterThan(0);
  evicting.backend.free = async () => 10;
  await expect(add(source(gguf('Next')))).rejects.toMatchObject({
    message: expect.stringMatching(/models could be deleted: added\/kept-/),
    wire: { code: 'storage_full' },
  });
  expect(await evicting.weights.missing(saved[0]?.variant.files ?? [])).toEqual([]);
});

test('a site that allows it deletes its own models when a write finds the storage full', async () => {
  const file = fileOf(Buffer.from('old'), 'old.gguf');
  const variants = [ggufVariant('old', { files: [file] })];
  const site = { ...catalog, models: [{ id: 'old', kind: 'chat' as const, created: 0, variants }] };
  service = weightsService(site, { evict: true });
  const { backend, modelStorage, weights } = service;
  await modelStorage.note('old', [file]);
  vi.stubGlobal('fetch', async () => new Response('old'));
  await weights.file(file, { signal: never, onProgress: () => undefined });
  const write = backend.write.bind(backend);
  backend.write = async (name) => {
    if (backend.files.has(file.sha256)) throw new DOMException('full', 'QuotaExceededError');
    return write(name);
  };
  adder = adderOf(site, service, saved, { requestFiles: async (ticket) => given.get(ticket) ?? null });
  expect(await add(source(gguf('Next')))).toMatchObject({ id: 'next' });
  expect(backend.files.has(file.sha256)).toBe(false);
});

const projector = (more: Record<string, string> = {}, tensor = 'v.patch_embd.weight'): Buffer<ArrayBuffer> =>
  writeGguf({
    metadata: { 'general.architecture': 'clip', 'clip.projector_type': 'idefics3', ...more },
    tensors: [{ ...oneTensor, name: tensor }],
  });

test('a model is added together with the part of it that sees', async () => {
  const [alone, eyes] = [gguf('Plain'), projector()];
  const plain = await add(source(alone));
  const seeing = await add(source(eyes, gguf('Seeing')));
  expect(seeing.name).toBe('Seeing');
  const files = saved[1]?.variant.files ?? [];
  expect(files.map(({ role }) => role)).toEqual([undefined, 'projector']);
  expect(seeing.bytes).toBe(files.reduce((sum, { bytes }) => sum + bytes, 0));
  // Its images take memory, too.
  expect(seeing.memoryBytes - plain.memoryBytes).toBeGreaterThan(400e6);
  expect(saved[0]?.variant.files[0]).not.toHaveProperty('role');
});

const adapter = (alpha = 8): Buffer<ArrayBuffer> =>
  writeGguf({
    metadata: { 'general.type': 'adapter', 'adapter.type': 'lora', 'adapter.lora.alpha': { f32: alpha } },
    tensors: [{ ...oneTensor, name: 'blk.0.attn_q.weight.lora_a' }],
  });

test('a model is added together with LoRA adapters', async () => {
  const { bytes } = await add(source(adapter(), gguf('Adapted')));
  const files = saved[0]?.variant.files ?? [];
  expect(files.map(({ role }) => role)).toEqual([undefined, 'adapter']);
  expect(bytes).toBe(files.reduce((sum, file) => sum + file.bytes, 0));
  for (const alone of [[adapter()], [adapter(), adapter()]])
    await expect(add(source(...alone))).rejects.toThrow(/add it together with its model/);
});

test.each<[string, () => Buffer<ArrayBuffer>[], RegExp]>([
  ['two of them', () => [gguf('A'), projector(), projector({ 'general.name': 'b' })], /second image part/],
  ['one alone', () => [projector()], /is added together with it/],
  ['two, and no model', () => [projector(), projector({ 'general.name': 'b' })], /second image part/],
  ['one that hears', () => [gguf('A'), projector({}, 'a.position_embd.weight')], /audio part/],
  ['an adapter of no strength', () => [gguf('A'), adapter(Number.NaN)], /gives NaN as adapter\.lora\.alpha/],
  ['one of large batches', () => [gguf('A'), projector({ 'clip.projector_type': 'gemma3' })], /gemma3/],
])('%s is refused', async (_, files, message) => {
  await expect(add(source(...files()))).rejects.toThrow(message);
  expect(saved).toEqual([]);
});

test.each([
  [{ type: 'url', url: 'x'.repeat(20_000), sha256: 'a'.repeat(64) }, '`source.url` must not be longer'],
  [{ type: 'url', url: 'https://a.example/x' }, '`source.sha256` must be the SHA-256'],
  [{ type: 'url', url: 'https://a.example/x', sha256: 'abc' }, '`source.sha256` must be the SHA-256'],
])('a field of a command that is not valid is named: %#', async (bad, message) => {
  const command = { type: 'add', id: null, source: bad } as WeightsCommand;
  await expect(runCommand({ ...service, adder }, command, never)).rejects.toThrow(message);
});
