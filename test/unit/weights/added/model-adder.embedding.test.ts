import { beforeAll, beforeEach, expect, test, vi } from 'vitest';

import { type AddedModelRecord, withAdded } from '../../../../src/catalog/added-models.ts';
import type { Catalog } from '../../../../src/catalog/catalog.ts';
import { parseCatalog } from '../../../../src/catalog/parse-catalog.ts';
import { folderOf, graphOf } from '../../../../src/engines/onnx/transformers-files.ts';
import { addedFormats, chooseModel, listModels } from '../../../../src/weights/added/repository-models.ts';
import { ENGINES } from '../../../../src/engines/registry.ts';
import { VariantFiles } from '../../../../src/weights/sources/variant-files.ts';
import { ModelHub } from '../../../support/model-hub.ts';
import { chatMetadata, type GgufMetadata, oneTensor, writeGguf } from '../../../support/write-gguf.ts';
import { weightsService } from '../weights-service.ts';
import { adderOf } from './adder-of.ts';

const catalog: Catalog = {
  ownedBy: 'us',
  models: [{ id: 'site-model', kind: 'chat', created: 0, variants: [] }],
};
const never = new AbortController().signal;
const config = { model_type: 'bert', hidden_size: 384, max_position_embeddings: 512, num_hidden_layers: 6 };
const base = {
  'config.json': config,
  'tokenizer.json': { model: {} },
  'tokenizer_config.json': { model_max_length: 256 },
  'onnx/model.onnx': 'a graph',
};

let hub: ModelHub;
let service: ReturnType<typeof weightsService>;
let sources: VariantFiles;
const saved: AddedModelRecord[] = [];

beforeAll(async () => {
  hub = await ModelHub.start();
});
beforeEach(() => {
  service = weightsService(catalog);
  sources = new VariantFiles(service.store, hub.url, { hub: hub.url });
  saved.length = 0;
  hub.fails = () => false;
});

/** Objects as JSON, texts as they are; undefined: no such file. */
function publish(files: Record<string, unknown>): string {
  const given = Object.entries(files).filter(([, content]) => content !== undefined);
  const bytes = given.map(([name, content]): [string, Buffer] => [
    name,
    content instanceof Buffer
      ? content
      : Buffer.from(typeof content === 'string' ? content : JSON.stringify(content)),
  ]);
  return hub.publish('owner/small-embedder', Object.fromEntries(bytes));
}
const source = (file: string | null = null) =>
  ({ type: 'hub', repository: 'owner/small-embedder', file, revision: null }) as const;
const list = async () => listModels(source(), sources, await addedFormats(ENGINES), never);

const open = () => adderOf(catalog, service, saved, { sources });
const embeds = (architecture: string, task: string) => ({ gguf: { architecture }, pipeline_tag: task });
const inspect = () => open().inspect(source(), never);

function add(file: string | null = null, id: string | null = null) {
  const adder = open();
  return { adder, added: adder.add({ type: 'add', id, source: source(file) }, never, () => undefined) };
}

test.each([
  ['an encoder', { gguf: { architecture: 'bert' } }, 'embedding'],
  ['an embedding model of a chat architecture', embeds('qwen3', 'feature-extraction'), 'embedding'],
  ['a model for similarity', embeds('gemma3', 'sentence-similarity'), 'embedding'],
  ['a chat model', embeds('qwen3', 'text-generation'), 'chat'],
  ['something unknown', { gguf: 'bert', pipeline_tag: 3 }, 'chat'],
])('offers the GGUF files of what the hub calls %s as such', async (_, info, kind) => {
  const file = writeGguf({ metadata: chatMetadata, tensors: [oneTensor] });
  hub.publish('owner/small-embedder', { 'a.gguf': file }, { info });
  expect(await list()).toMatchObject([{ kind, file: 'a.gguf' }]);
});

test('says that it guesses the pooling of a file that names none', async () => {
  const { 'general.architecture': _, ...others } = chatMetadata;
  const bert = { ...others, 'general.architecture': 'bert', 'bert.embedding_length': 64 };
  const inspected = (metadata: GgufMetadata) => {
    publish({ 'a.gguf': writeGguf({ metadata, tensors: [oneTensor] }) });
    return inspect();
  };
  expect(await inspected(bert)).toMatchObject({ warning: expect.stringContaining('mean') as string });
  expect(await inspected({ ...bert, 'bert.pooling_type': 1 })).not.toHaveProperty('warning');
});

test('warns where a file is tagged as an embedding model and is taken for chat', async () => {
  const tagged = { ...chatMetadata, 'general.tags': ['feature-extraction'] };
  publish({ 'a.gguf': writeGguf({ metadata: tagged, tensors: [oneTensor] }) });
  const warning = expect.stringContaining('added for chat') as string;
  expect(await inspect()).toMatchObject({ canChat: true, warning });
});

test('a repository offers its graphs for the CPU and its GGUF files, at its commit', async () => {
  const commit = publish({
    ...base,
    'onnx/model.onnx': 'a graph that is larger',
    'onnx/model.onnx_data': 'tensors',
    'onnx/model_quantized.onnx': '8 bits',
    'onnx/model_fp16.onnx': 'halves',
    'openvino/model.onnx': 'of another runtime',
    'a.gguf': writeGguf({ metadata: chatMetadata, tensors: [oneTensor] }),
    'README.md': '#',
  });
  const models = await list();
  expect(models.map(({ kind, file }) => `${kind} ${file}`).toSorted()).toEqual([
    'chat a.gguf',
    'embedding onnx/model.onnx',
    'embedding onnx/model_quantized.onnx',
  ]);
  const float = models.find(({ file }) => file === 'onnx/model.onnx');
  expect(float?.revision).toBe(commit);
  expect(float?.files.map(({ name, sha256 }) => [name, sha256 !== null])).toEqual([
    ['onnx/model.onnx', true],
    ['onnx/model.onnx_data', true],
    ['config.json', false],
    ['tokenizer.json', false],
    ['tokenizer_config.json', false],
  ]);
  expect(() => chooseModel(source(), models)).toThrow(/3 models .* Name one/);
});

test('it is added as an embedding model, pinned by hashes, renamed and removed', async () => {
  vi.spyOn(Date, 'now').mockReturnValue(5000);
  const commit = publish({
    ...base,
    'onnx/model_int8.onnx': '8 bits',
    '1_Pooling/config.json': { pooling_mode_cls_token: true },
  });
  const { adder, added } = add();
  const embedding = { dimensions: 384, pooling: 'cls' };
  expect(await added).toMatchObject({
    id: 'small-embedder',
    architecture: 'bert',
    quantization: 'F32',
    contextLength: 256,
    created: 5,
    embedding,
  });
  const variant = saved[0]?.variant;
  if (variant?.engine !== 'transformers') throw new Error('no embedding model');
  expect(variant).toMatchObject({ engine: 'transformers', contextLength: 256, ...embedding });
  expect(variant).not.toHaveProperty('maxBatchSize');
  expect(folderOf(variant)).toBe(`added/owner/small-embedder/${commit}/`);
  expect(graphOf(variant)).toBe('model');
  expect(await service.weights.missing(variant.files)).toEqual([]);
  const all = withAdded(catalog, saved);
  expect(all.models.at(-1)).toMatchObject({ id: 'small-embedder', kind: 'embedding' });
  expect(() => parseCatalog({ ...all, models: all.models.slice(1) })).not.toThrow();
  await adder.rename('small-embedder', 'mine');
  expect(saved[0]?.model.id).toBe('mine');
  await adder.delete('mine');
  expect(saved).toEqual([]);
  expect([...service.backend.files.keys()].filter((name) => /^[0-9a-f]{64}/.test(name))).toEqual([]);
});

test.each<[string, object, object | undefined]>([
  [
    'both tasks',
    { prompts: { query: 'query: ', passage: 'passage: ', sts: 'similar: ' } },
    { query: 'query: ', document: 'passage: ' },
  ],
  ['queries alone', { prompts: { query: 'Find: ', document: null } }, { query: 'Find: ', document: '' }],
  ['no task', { prompts: { query: '', document: '' } }, undefined],
  ['no prompts', { prompts: null, similarity_fn_name: 'cosine' }, undefined],
])('takes the prefixes of a repository that declares them for %s', async (_, prompts, prefixes) => {
  publish({ ...base, 'config_sentence_transformers.json': prompts });
  await add().added;
  const variant = saved[0]?.variant;
  expect(variant && 'prefixes' in variant ? variant.prefixes : undefined).toEqual(prefixes);
});

test('two graphs of a repository are two models; one in 8 bits takes a text at a time on the CPU', async () => {
  publish({ ...base, 'onnx/model_int8.onnx': '8 bits' });
  await add().added;
  const { added, adder } = add('int8');
  expect(await added).toMatchObject({ id: 'small-embedder-2', quantization: 'INT8' });
  const [first, second] = saved.map(({ variant }) => variant);
  expect(second).toMatchObject({ device: 'wasm', maxBatchSize: 1 });
  expect(first?.name).not.toBe(second?.name);
  await adder.delete('small-embedder-2');
  expect(await service.weights.missing(first?.files ?? [])).toEqual([]);
});

test('a graph in 8 bits is recognized by its operators, too', async () => {
  publish({ ...base, 'onnx/model.onnx': 'Cast DynamicQuantizeLinear MatMulInteger' });
  expect(await inspect()).toMatchObject({ quantization: 'INT8' });
});

const pooling = (flags: unknown) => ({ '1_Pooling/config.json': flags });
const modules = (...types: string[]) => ({
  'modules.json': types.map((type) => ({ type: `sentence_transformers.models.${type}` })),
});

test.each<[string, Record<string, unknown>, object]>([
  ['no pooling', {}, { pooling: 'mean', dimensions: 384, contextLength: 256, quantization: 'F32' }],
  [
    'the mean',
    pooling({ pooling_mode_mean_tokens: true, pooling_mode_cls_token: false }),
    { pooling: 'mean' },
  ],
  ['the last token', pooling({ pooling_mode_lasttoken: true }), { pooling: 'last_token' }],
  ['a pooling by name', pooling({ pooling_mode: 'cls' }), { pooling: 'cls' }],
  ['the usual modules', modules('Transformer', 'Pooling', 'Normalize'), { dimensions: 384 }],
  [
    'a tokenizer without a limit',
    { 'tokenizer_config.json': { model_max_length: 1e30 } },
    { contextLength: 512 },
  ],
  [
    'a long context',
    { 'config.json': { ...config, max_position_embeddings: 8192 }, 'tokenizer_config.json': {} },
    { trainedContextLength: 8192, contextLength: 2048 },
  ],
  [
    'positions that begin at 2',
    {
      'config.json': { ...config, model_type: 'roberta', max_position_embeddings: 514 },
      'tokenizer_config.json': {},
    },
    { architecture: 'roberta', contextLength: 512 },
  ],
  [
    "DistilBERT's names",
    { 'config.json': { model_type: 'distilbert', dim: 768, max_position_embeddings: 512 } },
    { dimensions: 768 },
  ],
])('facts with %s', async (_, files, facts) => {
  publish({ ...base, ...files });
  const { embedding, ...model } = await inspect();
  expect({ ...model, ...embedding }).toMatchObject(facts);
});

const INVALID = 'invalid_model_file';
const UNSUPPORTED = 'unsupported_model';
test.each<[string, Record<string, unknown>, string, RegExp]>([
  [
    'no tokenizer',
    { 'tokenizer.json': undefined },
    UNSUPPORTED,
    /has onnx\/model\.onnx, but no tokenizer\.json/,
  ],
  ['no graph', { 'onnx/model.onnx': undefined }, UNSUPPORTED, /has no GGUF file, and no embedding model/],
  [
    'a broken config',
    { 'config.json': '{"model_type":' },
    INVALID,
    /config\.json of owner\/small-embedder is not JSON/,
  ],
  ['a list as its config', { 'config.json': [] }, INVALID, /config\.json of .* is not what a model has/],
  [
    'a huge config',
    { 'config.json': ' '.repeat(2 ** 22 + 1) },
    INVALID,
    /config\.json has more than 4194304 bytes/,
  ],
  [
    'an image model',
    { 'config.json': { ...config, model_type: 'vit' } },
    UNSUPPORTED,
    /"vit" model, which is not a text encoder/,
  ],
  ['a chat model', { 'config.json': { ...config, model_type: 'llama' } }, UNSUPPORTED, /"llama" model/],
  [
    'a type that is no name',
    { 'config.json': { ...config, model_type: 'constructor' } },
    UNSUPPORTED,
    /"constructor"/,
  ],
  [
    'no type',
    { 'config.json': { ...config, model_type: undefined } },
    INVALID,
    /config\.json .*: model_type: /,
  ],
  [
    'absurd layers',
    { 'config.json': { ...config, num_hidden_layers: 1e9 } },
    INVALID,
    /: num_hidden_layers: /,
  ],
  ['absurd dimensions', { 'config.json': { ...config, hidden_size: 1e9 } }, INVALID, /: hidden_size: /],
  ['no dimensions', { 'config.json': { ...config, hidden_size: undefined } }, UNSUPPORTED, /no hidden_size/],
  [
    'no positions',
    { 'config.json': { ...config, max_position_embeddings: -1 } },
    INVALID,
    /max_position_embeddings/,
  ],
  [
    'a limit that is text',
    { 'tokenizer_config.json': { model_max_length: 'x' } },
    INVALID,
    /tokenizer_config\.json .*: model_max_length: /,
  ],
  [
    'max pooling',
    pooling({ pooling_mode_max_tokens: true }),
    UNSUPPORTED,
    /the pooling "max_tokens" in its 1_Pooling/,
  ],
  [
    'two poolings',
    pooling({ pooling_mode_cls_token: true, pooling_mode_mean_tokens: true }),
    UNSUPPORTED,
    /"cls_token and mean_tokens"/,
  ],
  ['a pooling of that name', pooling({ pooling_mode: '__proto__' }), UNSUPPORTED, /"__proto__"/],
  ['no pooling that is on', pooling({ pooling_mode_cls_token: 'yes' }), UNSUPPORTED, /the pooling ""/],
  [
    'a dense layer',
    modules('Transformer', 'Pooling', 'Dense'),
    UNSUPPORTED,
    /a step "Dense" in its modules\.json/,
  ],
  ['modules that are none', { 'modules.json': { a: 1 } }, INVALID, /modules\.json of /],
])('%s is refused, and nothing is stored', async (_, files, code, message) => {
  publish({ ...base, ...files });
  await expect(add().added).rejects.toMatchObject({
    message: expect.stringMatching(message) as string,
    wire: { status: 400, code },
  });
  expect([...service.backend.files.keys()]).toEqual([]);
});

test('a gated repository is named as such', async () => {
  hub.publish('owner/small-embedder', { 'config.json': Buffer.from('{}') }, { gated: true });
  await expect(inspect()).rejects.toThrow(/authors ask for consent/);
});
