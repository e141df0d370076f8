import { beforeEach, expect, test } from 'vitest';

import { withAdded, type AddedModelRecord } from '../../../../src/catalog/added-models.ts';
import type { Catalog } from '../../../../src/catalog/catalog.ts';
import type { Device } from '../../../../src/engine/device/device.ts';
import { ModelAdder, type ModelAdderOptions } from '../../../../src/engine/models/model-adder.ts';
import { serveWeights } from '../../../../src/engine/requests/serve-weights.ts';
import type { ModelSource } from '../../../../src/protocol/weights-messages.ts';
import type { LoadProgress } from '../../../../src/protocol/worker-control.ts';
import { chatMetadata, oneTensor, writeGguf } from '../../../support/write-gguf.ts';
import { weightsService } from '../../weights/weights-service.ts';

const catalog: Catalog = {
  ownedBy: 'us',
  models: [{ id: 'site-model', kind: 'chat', created: 0, variants: [] }],
  aliases: { 'site-alias': 'site-model' },
};
const device: Device = {
  gpu: null,
  memoryGiB: 2,
  cores: 2,
  storage: null,
  saveData: false,
};
const never = new AbortController().signal;
const gguf = (name: string, more: Record<string, number | string> = {}): Buffer<ArrayBuffer> =>
  writeGguf({ metadata: { ...chatMetadata, 'general.name': name, ...more }, tensors: [oneTensor] });

function source(...files: Buffer<ArrayBuffer>[]): Extract<ModelSource, { type: 'files' }> {
  return {
    type: 'files',
    files: files.map(({ length }, index) => ({ name: `part-${index}.gguf`, bytes: length })),
    blob: new Blob(files),
  };
}

let saved: readonly AddedModelRecord[];
let service: ReturnType<typeof weightsService>;
let adder: ModelAdder;

function open(options: Partial<ModelAdderOptions> = {}): ModelAdder {
  service.modelStorage.setCatalog(withAdded(catalog, saved));
  return new ModelAdder({
    catalog,
    added: [...saved],
    save: async (models) => void (saved = models),
    publish: (all) => service.modelStorage.setCatalog(all),
    store: service.store,
    sources: service.sources,
    modelStorage: service.modelStorage,
    device: Promise.resolve(device),
    now: () => 5000,
    ...options,
  });
}

beforeEach(() => {
  saved = [];
  service = weightsService(catalog);
  adder = open();
});

const add = (from: ModelSource, id: string | null = null, progress: LoadProgress[] = []) =>
  adder.add({ type: 'add', id, source: from }, never, (each) => progress.push(each));

test('a model is stored under its hash, and described', async () => {
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
  const second = writeGguf({ metadata: { 'split.count': 2, 'split.no': 1 }, tensors: [oneTensor] });
  await add(source(second, first));
  expect(saved[0]?.variant.files.map(({ bytes }) => bytes)).toEqual([first.length, second.length]);
  await expect(add(source(first))).rejects.toThrow(/part of a model of 2 files, and 1 were given/);
});

test('the same model again is the same; under another id it is refused', async () => {
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

test('a catalog that takes the id later keeps its meaning', async () => {
  await add(source(gguf('Mine')), 'mine');
  const later = {
    ...catalog,
    models: [...catalog.models, { id: 'mine', kind: 'chat' as const, created: 1, variants: [] }],
  };
  expect(withAdded(later, saved)).toBe(later);
  expect(withAdded(catalog, saved).models.map(({ id }) => id)).toEqual(['site-model', 'mine']);
});

test('renamed and removed, nothing of it stays', async () => {
  const before = [...service.backend.files.keys()];
  await add(source(gguf('Gone')));
  await adder.rename('gone', 'soon-gone');
  expect(saved.map(({ model }) => model.id)).toEqual(['soon-gone']);
  const command = { type: 'delete', target: saved[0]?.variant.name ?? '' } as const;
  await serveWeights({ ...service, adder }, command, never);
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

test('a storage that is too small is told before anything is written', async () => {
  service.backend.free = async () => 10;
  await expect(add(source(gguf('Big')))).rejects.toMatchObject({ wire: { code: 'storage_full' } });
  expect([...service.backend.files.keys()]).toEqual([]);
});

test.each<[string, ModelSource]>([
  ['no GGUF', source(Buffer.from('some text that is no GGUF at all'))],
  ['cut short', source(gguf('Cut').subarray(0, -40))],
  ['two models', source(gguf('A'), gguf('B'))],
  ['fewer bytes than named', { ...source(gguf('A')), blob: new Blob(['a']) }],
])('a file that is %s is refused, and nothing is stored', async (_, from) => {
  await expect(add(from)).rejects.toMatchObject({ wire: { status: 400, code: 'invalid_model_file' } });
  expect([...service.backend.files.keys()]).toEqual([]);
});

test('an add that is aborted while it writes leaves nothing', async () => {
  const stop = new AbortController();
  const adding = adder.add({ type: 'add', id: null, source: source(gguf('Stopped')) }, stop.signal, () =>
    stop.abort(),
  );
  await expect(adding).rejects.toThrow('aborted');
  expect([[...service.backend.files.keys()], saved]).toEqual([[], []]);
  expect(await add(source(gguf('Next')))).toMatchObject({ id: 'next' });
});

test('what an engine that ended had written is removed by the next one', async () => {
  const broken = open({
    publish: () => undefined,
    save: () => new Promise<never>(() => undefined),
  });
  void broken.add({ type: 'add', id: null, source: source(gguf('Interrupted')) }, never, () => undefined);
  await expect.poll(async () => service.backend.files.size).toBeGreaterThan(2);
  const next = open();
  // It answers once the leftovers are gone.
  await expect(
    next.add({ type: 'add', id: null, source: source(Buffer.alloc(30)) }, never, () => undefined),
  ).rejects.toThrow();
  expect([...service.backend.files.keys()]).toEqual([]);
});

test('the files of an added model are never deleted to make room for others', async () => {
  const evicting = weightsService(catalog, { evict: true });
  service = evicting;
  adder = open();
  const { memoryBytes } = await add(source(gguf('Kept')));
  expect(memoryBytes).toBeGreaterThan(0);
  evicting.backend.free = async () => 10;
  await expect(add(source(gguf('Next')))).rejects.toMatchObject({ wire: { code: 'storage_full' } });
  expect(await evicting.weights.missing(saved[0]?.variant.files ?? [])).toEqual([]);
});
