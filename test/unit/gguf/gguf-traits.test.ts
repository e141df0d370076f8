import { expect, test } from 'vitest';

import { ggufTraits, type GgufTraits } from '../../../src/gguf/gguf-traits.ts';
import { FormatError, readHeader, startOfBlob } from '../../../src/gguf/byte-cursor.ts';
import { readGguf } from '../../../src/gguf/read-gguf.ts';
import { chatMetadata, type GgufMetadata, oneTensor, writeGguf } from '../../support/write-gguf.ts';

const factsOf = (bytes: Buffer<ArrayBuffer>): Promise<GgufTraits> =>
  readHeader(startOfBlob(new Blob([bytes])), (cursor) => ggufTraits(readGguf(cursor), cursor));

const withMetadata = (metadata: GgufMetadata) =>
  writeGguf({ metadata: { ...chatMetadata, ...metadata }, tensors: [oneTensor] });

/** A file of this architecture, and of these sizes under its name. */
const withSizes = (architecture: string, sizes: GgufMetadata) =>
  withMetadata({
    'general.architecture': architecture,
    ...Object.fromEntries(Object.entries(sizes).map(([key, value]) => [`${architecture}.${key}`, value])),
  });

test('the header tells what a model is', async () => {
  expect(await factsOf(withMetadata({}))).toEqual({
    architecture: 'llama',
    name: 'Tiny Llama',
    license: 'mit',
    contextLength: 4096,
    quantization: 'Q8_0',
    chatTemplate: '{{ messages }}',
    canChat: true,
    tensors: 1,
    sampling: {},
    defaults: {},
    // Two layers, two heads for keys and values, each of 16 numbers, in floats.
    kvValues: 4 * 2 * 2 * 32,
    kvWindow: null,
    stateBytes: 0,
    kvInBlocks: false,
    embedding: null,
    reranks: false,
    guessesPooling: false,
    isTaggedEmbedding: false,
    split: null,
  });
});

test.each([
  ['names its pooling', { 'bert.pooling_type': 2 }, { pooling: 'cls' }, false],
  ['names none', {}, { pooling: 'mean' }, true],
  ['names none at all', { 'bert.pooling_type': 0 }, { pooling: 'mean' }, true],
])('an encoder whose file %s', async (_, metadata, embedding, guessesPooling) => {
  const named = { 'general.architecture': 'bert', 'bert.embedding_length': 64, ...metadata };
  expect(await factsOf(withMetadata(named))).toMatchObject({ embedding, guessesPooling });
});

test.each<[string, Record<string, number | string>, object]>([
  ['the pooling that its file names', { 'llama.pooling_type': 3 }, { dimensions: 64, pooling: 'last_token' }],
  ['the first token', { 'llama.pooling_type': 2 }, { dimensions: 64, pooling: 'cls' }],
  [
    'another length than its layers',
    { 'llama.pooling_type': 1, 'llama.embedding_length_out': 32 },
    { dimensions: 32, pooling: 'mean' },
  ],
])('an embedding model of a chat architecture: %s', async (_, metadata, embedding) => {
  expect(await factsOf(withMetadata(metadata))).toMatchObject({ embedding, canChat: false });
});

test.each([
  ['as often as its file says', 'llama', { 'attention.sliding_window_pattern': 4 }, 6],
  ['as often as its architecture has it', 'gemma3', {}, 7],
  ['but one of four', 'olmo2', {}, 6],
  ['but one of five', 'gemma3n', {}, 7],
  ['but one of eight', 'plamo3', {}, 7],
  ['but the first', 'smallthinker', { 'attention.head_count_kv': { i32s: [9, 2, 2, 2, 9, 2, 2, 2] } }, 6],
  ['in all', 'lfm2', {}, 8],
  ['in none, where nothing says which', 'phi3', {}, null],
])('a layer sees the last tokens alone %s', async (_, architecture, pattern, layers) => {
  const bytes = withSizes(architecture, {
    context_length: 4096,
    block_count: 8,
    embedding_length: 128,
    'attention.head_count': 4,
    'attention.head_count_kv': 2,
    'attention.sliding_window': 512,
    ...pattern,
  });
  expect((await factsOf(bytes)).kvWindow).toEqual(layers && { values: layers * 2 * 64, tokens: 512 });
});

test('the window of a Gemma 2 that names none', async () => {
  const bytes = withSizes('gemma2', { block_count: 4, embedding_length: 128, 'attention.head_count': 4 });
  expect((await factsOf(bytes)).kvWindow).toEqual({ values: 2 * 4 * 64, tokens: 4096 });
});

test('a number below 0 is none', async () => {
  const window = { 'llama.attention.sliding_window': { i32: -1 }, 'llama.pooling_type': { i32: -1 } };
  const traits = await factsOf(withMetadata({ ...window, 'llama.context_length': { i32: -1 } }));
  expect(traits).toMatchObject({ embedding: null, kvWindow: null, contextLength: 2048, canChat: true });
});

const KV = 'llama.attention.head_count_kv';
const HEADS = 'llama.attention.head_count';
const sixLayers: GgufMetadata = { ...chatMetadata, 'llama.block_count': 6, 'llama.embedding_length': 128 };
const { [KV]: _kv, [HEADS]: _heads, ...headless } = sixLayers;
const alternating = { 'llama.attention.sliding_window': 512, [HEADS]: 4 };

test.each<[string, GgufMetadata, number, object | null]>([
  ['attention in two layers of six', { [HEADS]: 4, [KV]: { i32s: [0, 0, 2, 0, 0, 2] } }, 4 * 64, null],
  [
    'more heads in later layers',
    { [HEADS]: { i32s: [4, 4, 4, 8, 8, 8] }, [KV]: { i32s: [1, 1, 1, 2, 2, 2] } },
    9 * 64,
    null,
  ],
  ['no attention in its first layer', { [HEADS]: { i32s: [0, 4, 0, 4, 0, 4] } }, 12 * 64, null],
  [
    'a size of keys and values',
    {
      [HEADS]: { i32s: [4, 8] },
      [KV]: { i32s: [1, 2] },
      'llama.attention.key_length': 96,
      'llama.attention.value_length': 64,
    },
    3 * 160,
    null,
  ],
  ['a list longer than its layers', { [HEADS]: 4, [KV]: { i32s: [1, 1, 1, 1, 1, 1, 9, 9] } }, 6 * 64, null],
  ['a list of fractions', { [HEADS]: { f32s: [4, 4] } }, 0, null],
  ['a list that is longer than any model', { [HEADS]: { i32s: Array<number>(10_001).fill(4) } }, 0, null],
  [
    'a window in the layers that it lists',
    { ...alternating, 'llama.attention.sliding_window_pattern': { i32s: [1, 1, 0, 1, 1, 0] } },
    24 * 64,
    { values: 16 * 64, tokens: 512 },
  ],
])('sizes for each layer: %s', async (_, metadata, kvValues, kvWindow) => {
  const bytes = writeGguf({ metadata: { ...headless, ...metadata }, tensors: [oneTensor] });
  expect(await factsOf(bytes)).toMatchObject({ kvValues, kvWindow });
});

const ssm = { 'ssm.conv_kernel': 4, 'ssm.inner_size': 256, 'ssm.state_size': 64, 'ssm.group_count': 2 };
/** Bytes of a layer of these sizes. */
const SSM_BYTES = 4 * (3 * (256 + 2 * 2 * 64) + 64 * 256);
const hybrid = { context_length: 512, block_count: 4, embedding_length: 128, 'attention.head_count': 4 };

test.each<[string, string, GgufMetadata, number, number]>([
  ['three layers of four', 'qwen35', { ...ssm, full_attention_interval: 4 }, 3 * SSM_BYTES, 256],
  [
    'those that it lists',
    'qwen35',
    { ...ssm, 'attention.recurrent_layers': { i32s: [1, 0, 1, 0] } },
    2 * SSM_BYTES,
    2 * 256,
  ],
  [
    'layers without heads',
    'granitehybrid',
    { ...ssm, 'attention.head_count_kv': { i32s: [0, 0, 0, 4] } },
    3 * SSM_BYTES,
    256,
  ],
  [
    'short convolutions',
    'lfm2',
    { 'shortconv.l_cache': 3, 'attention.head_count_kv': { i32s: [0, 4, 0, 4] } },
    2 * 4 * 128 * 2,
    2 * 256,
  ],
  ['layers beside attention', 'falcon-h1', ssm, 4 * SSM_BYTES, 4 * 256],
  ['all layers', 'mamba2', { ...ssm, 'attention.head_count': 0 }, 4 * SSM_BYTES, 0],
  ['shifted tokens', 'rwkv7', { 'wkv.head_size': 64, 'attention.head_count': 0 }, 4 * 4 * 128 * 66, 0],
  ['no layers', 'qwen3', {}, 0, 4 * 256],
])('a state that does not grow with the chat: %s', async (_, architecture, own, stateBytes, kvValues) => {
  const traits = await factsOf(withSizes(architecture, { ...hybrid, ...own }));
  expect(traits).toMatchObject({ stateBytes, kvValues });
});

test.each([
  ['80 wide', { 'llama.attention.key_length': 80, 'llama.attention.value_length': 80 }, false],
  ['100 wide, by their number', { 'llama.embedding_length': 400 }, false],
  ['of values 72 wide', { 'llama.attention.key_length': 64, 'llama.attention.value_length': 72 }, false],
  ['80 wide where they see a window', { 'llama.attention.key_length_swa': 80 }, false],
  ['96 wide', { 'llama.attention.key_length': 96, 'llama.attention.value_length': 96 }, true],
])(
  'heads that are %s: the KV cache is in blocks of Q8_0, or in four times the bytes',
  async (_, sizes, kvInBlocks) => {
    const metadata: GgufMetadata = { ...chatMetadata, 'llama.embedding_length': 128, ...sizes };
    const [key, value] = ['key', 'value'].map(
      (name) =>
        Number(metadata[`llama.attention.${name}_length`]) || Number(metadata['llama.embedding_length']) / 4,
    );
    expect(await factsOf(writeGguf({ metadata, tensors: [oneTensor] }))).toMatchObject({
      kvInBlocks,
      kvValues: 2 * 2 * (Number(key) + Number(value)) * (kvInBlocks ? 1 : 4),
    });
  },
);

const pattern = {
  'attention.sliding_window': 512,
  'attention.sliding_window_pattern': { i32s: [1, 1, 1, 0, 1, 1, 1, 0] },
};

test.each<[string, string, GgufMetadata, number, number]>([
  [
    'attention in every fourth layer',
    'qwen35',
    { 'attention.head_count_kv': 2, full_attention_interval: 4 },
    2 * 2 * 64,
    0,
  ],
  [
    'last layers that share the cache of earlier ones',
    'gemma4',
    { 'attention.head_count_kv': 2, 'attention.shared_kv_layers': 4, ...pattern },
    4 * 2 * 64,
    3 * 2 * 64,
  ],
  [
    'smaller heads in layers that see a window',
    'gemma4',
    {
      'attention.head_count_kv': 2,
      'attention.key_length': 512,
      'attention.value_length': 512,
      'attention.key_length_swa': 256,
      'attention.value_length_swa': 256,
      ...pattern,
    },
    2 * 2 * 1024 + 6 * 2 * 512,
    6 * 2 * 512,
  ],
  [
    'values that are a part of the keys',
    'deepseek2',
    {
      'attention.head_count_kv': 1,
      'attention.key_length': 576,
      'attention.value_length': 512,
      'attention.key_length_mla': 192,
    },
    8 * 576,
    0,
  ],
])('%s', async (_, architecture, sizes, kvValues, windowValues) => {
  const shape = { block_count: 8, embedding_length: 128, 'attention.head_count': 4 };
  const traits = await factsOf(withSizes(architecture, { ...shape, ...sizes }));
  expect([traits.kvValues, traits.kvWindow?.values ?? 0]).toEqual([kvValues, windowValues]);
});

test('a number of heads that no layer can have is refused', async () => {
  const refused = factsOf(withMetadata({ [KV]: { i32s: [2, -1] } }));
  await expect(refused).rejects.toThrow(`gives 4294967295 as ${KV}`);
});

test.each([
  ['neither a template nor its tokens', {}, false],
  ['the tokens of ChatML', { 'tokenizer.ggml.tokens': ['a', '<|im_end|>', 'bc', '<|im_start|>'] }, true],
  ['one token of ChatML', { 'tokenizer.ggml.tokens': ['a', '<|im_end|>'] }, false],
])('a vocabulary with %s: it can chat, or continues text', async (_, metadata, canChat) => {
  const { 'tokenizer.chat_template': _template, ...base } = chatMetadata;
  for (const template of [{}, { 'tokenizer.chat_template': '' }]) {
    const bytes = writeGguf({ metadata: { ...base, ...template, ...metadata }, tensors: [oneTensor] });
    expect(await factsOf(bytes)).toMatchObject({ canChat, chatTemplate: null });
  }
});

test('the only template of a file may be the one for tools', async () => {
  const { 'tokenizer.chat_template': _template, ...base } = chatMetadata;
  const metadata = { ...base, 'tokenizer.chat_template.tool_use': '{{ tools }}' };
  const bytes = writeGguf({ metadata, tensors: [oneTensor] });
  expect(await factsOf(bytes)).toMatchObject({ canChat: true, chatTemplate: '{{ tools }}' });
});

test.each([
  [['code', 'sentence-similarity'], true],
  [['code'], false],
])('a file with the tags %s', async (tags, isTaggedEmbedding) => {
  expect(await factsOf(withMetadata({ 'general.tags': tags }))).toMatchObject({ isTaggedEmbedding });
});

test('without a file type, the quantization is that of most bytes; without a name, there is none', async () => {
  const traits = await factsOf(withMetadata({ 'general.file_type': 999, 'general.name': '' }));
  expect(traits).toMatchObject({ quantization: 'Q8_0', name: null });
});

test('a part of a split model tells which it is, and needs no architecture', async () => {
  const metadata = { 'split.count': 3, 'split.no': 2 };
  expect(await factsOf(writeGguf({ metadata, tensors: [oneTensor] }))).toMatchObject({
    split: { index: 2, count: 3 },
  });
});

const norm = { name: 'norm', shape: [8], type: 0, bytes: 32 };
const withTensors = (...tensors: (typeof oneTensor)[]) => writeGguf({ metadata: chatMetadata, tensors });
/** The second tensor lies at that offset instead of at 32. */
function secondAt(offset: number): Buffer<ArrayBuffer> {
  const bytes = withTensors({ ...norm, name: 'first' }, { ...norm, name: 'second' });
  bytes.writeBigUInt64LE(BigInt(offset), bytes.indexOf('second') + 6 + 4 + 8 + 4);
  return Buffer.concat([bytes, Buffer.alloc(64)]);
}
function twice(): Buffer<ArrayBuffer> {
  const bytes = withMetadata({ 'key.a': 1, 'key.b': 1 });
  bytes.write('key.a', bytes.indexOf('key.b'));
  return bytes;
}

test('a refusal has no control characters of the file, and is cut', async () => {
  const name = `a\u001b[2J\n${'b'.repeat(5000)}`;
  const error = await factsOf(withTensors({ ...norm, name }, { ...norm, name })).catch(
    (reason: Error) => reason,
  );
  const { message } = error as Error;
  expect(message).toMatch(/a \[2J b{80,}…/);
  expect(message).not.toMatch(/\p{Cc}/u);
  expect(message.length).toBeLessThanOrEqual(400);
});

test.each<[string, Buffer<ArrayBuffer> | Parameters<typeof withMetadata>[0], RegExp]>([
  ['of an unknown architecture', { 'general.architecture': 'nonsense' }, /architecture nonsense, which/],
  ['of no architecture', { 'general.architecture': '' }, /names no architecture/],
  ['of a LoRA adapter', { 'general.type': 'adapter' }, /is no model, but a LoRA adapter/],
  ['of an importance matrix', { 'general.type': 'imatrix', 'general.architecture': '' }, /importance matrix/],
  ['of an image projector', { 'general.architecture': 'clip' }, /but the image or audio part/],
  ['with a context without end', { 'llama.context_length': 2 ** 31 }, /gives 2147483648 as llama\.context/],
  ['with layers without end', { 'llama.block_count': 2 ** 31 }, /gives 2147483648 as llama\.block_count/],
  ['of a million parts', { 'split.count': 1e6 }, /gives 1000000 as split\.count/],
  ['behind its last part', { 'split.count': 2, 'split.no': 2 }, /is part 3 of 2/],
  ['of no heads', { 'llama.attention.head_count': 0 }, /gives 0 as llama\.attention\.head_count/],
  ['of no context', { 'llama.context_length': 0 }, /gives 0 as llama\.context_length/],
  ['of no base', { 'llama.rope.freq_base': { f32: NaN } }, /gives NaN as llama\.rope\.freq_base/],
  ['of a base below 1', { 'llama.rope.freq_base': { f32: 0.5 } }, /gives 0\.5 as llama\.rope\.freq_base/],
  ['of a huge term', { 'llama.attention.layer_norm_rms_epsilon': { f32: 2 } }, /gives 2 as .*rms_epsilon/],
  ['with a base of 0', { 'llama.rope.freq_base': { f32: 0 } }, /gives 0 as llama\.rope\.freq_base/],
  ['of no tokenizer', { 'tokenizer.ggml.model': 'none' }, /gives none as tokenizer\.ggml\.model/],
  ['of no layers', { 'llama.block_count': 0 }, /gives 0 as llama\.block_count/],
  ['of no width', { 'llama.embedding_length': 0 }, /gives 0 as llama\.embedding_length/],
  ['two tensors of one name', withTensors(norm, norm), /two tensors of the name norm/],
  ['a tensor that lies on another', secondAt(0), /second at 0, and not at 32/],
  ['a gap between tensors', secondAt(64), /second at 64, and not at 32/],
  ['an empty tensor', withTensors({ ...norm, shape: [0, 0], bytes: 0 }), /an empty tensor, norm/],
  ['rows of half a block', withTensors({ ...oneTensor, shape: [16, 4] }), /not of whole blocks of 32/],
  ['a key twice', twice(), /key\.a twice/],
  [
    'a classifier without its output',
    withTensors({ ...norm, name: 'cls.weight', shape: [2, 4] }),
    /of 4 numbers/,
  ],
])('a file that llama.cpp would not load is refused: %s', async (_, file, message) => {
  const refused = factsOf(Buffer.isBuffer(file) ? file : withMetadata(file));
  await expect(refused).rejects.toThrow(FormatError);
  await expect(refused).rejects.toThrow(message);
});

test('a model without attention has no heads', async () => {
  const metadata = {
    'general.architecture': 'mamba',
    'mamba.attention.head_count': 0,
    'mamba.context_length': 64,
  };
  expect(await factsOf(withMetadata(metadata))).toMatchObject({ architecture: 'mamba', contextLength: 64 });
});

test('control characters and changes of direction are left out of names', async () => {
  const traits = await factsOf(
    withMetadata({ 'general.name': 'Tiny\u0000\r\n\u202eLlama \u009b', 'general.license': '\u0007' }),
  );
  expect(traits).toMatchObject({ name: 'Tiny Llama', license: null });
});

test('a quantization that llama.cpp does not have is refused', async () => {
  const bytes = writeGguf({ metadata: chatMetadata, tensors: [{ ...oneTensor, type: 31 }] });
  await expect(factsOf(bytes)).rejects.toThrow('element type 31 of token_embd.weight');
});

test('a file of a vocabulary alone is refused, but not the first part of a split model', async () => {
  await expect(factsOf(writeGguf({ metadata: chatMetadata }))).rejects.toThrow('has no weights');
  const first = writeGguf({ metadata: { ...chatMetadata, 'split.count': 2, 'split.no': 0 } });
  expect(await factsOf(first)).toMatchObject({ tensors: 0 });
});

test.each<[string, GgufMetadata, object]>([
  [
    'as its file has it',
    { top_k: 20, min_p: { f32: 0.25 }, penalty_repeat: { f32: 1.5 }, temp: { f32: 0.6 } },
    { topK: 20, minP: 0.25, repeatPenalty: 1.5 },
  ],
  ['off', { top_k: 0, min_p: { f32: 0 } }, { minP: 0 }],
  ['out of bounds', { top_k: 2 ** 31, min_p: { f32: NaN }, penalty_repeat: { f32: Infinity } }, {}],
  ['as other types of numbers', { min_p: 1, penalty_repeat: { f64: 1.1 } }, { minP: 1, repeatPenalty: 1.1 }],
  ['of another type', { top_k: '20', min_p: '1', penalty_repeat: { f32s: [1] } }, {}],
])('sampling settings %s', async (_, given, sampling) => {
  const named = Object.entries(given).map(([name, value]) => [`general.sampling.${name}`, value]);
  expect((await factsOf(withMetadata(Object.fromEntries(named) as GgufMetadata))).sampling).toEqual(sampling);
});

test.each<[string, GgufMetadata, object]>([
  ['of its makers', { temp: { f32: 0.5 }, top_p: { f32: 0.75 } }, { temperature: 0.5, topP: 0.75 }],
  ['that are greedy', { temp: { f32: 0 } }, { temperature: 0 }],
  ['out of bounds', { temp: { f32: 3 }, top_p: { f32: -1 } }, {}],
  ['as other types of numbers', { temp: { f64: 0.6 }, top_p: 1 }, { temperature: 0.6, topP: 1 }],
  ['below 0', { temp: { i32: -1 } }, {}],
  ['of another type', { temp: '0.5', top_p: { f32s: [1] } }, {}],
])('temperature and top_p %s', async (_, given, defaults) => {
  const named = Object.entries(given).map(([name, value]) => [`general.sampling.${name}`, value]);
  expect((await factsOf(withMetadata(Object.fromEntries(named) as GgufMetadata))).defaults).toEqual(defaults);
});

test('a model that gives tokens vectors, and texts none, is refused', async () => {
  const tensors = [oneTensor, { ...oneTensor, name: 'dense_2.weight' }].map((tensor) => ({
    ...tensor,
    bytes: 96,
  }));
  const file = (pooling: number) =>
    factsOf(writeGguf({ metadata: { ...chatMetadata, 'llama.pooling_type': pooling }, tensors }));
  await expect(file(0)).rejects.toThrow('but a model that gives each token a vector');
  expect(await file(1)).toMatchObject({ embedding: { pooling: 'mean' } });
});

test('a big-endian file is refused as such', async () => {
  const bytes = withMetadata({});
  bytes.writeUInt32BE(3, 4);
  await expect(factsOf(bytes)).rejects.toThrow('is a big-endian GGUF');
});

test.each([
  ['NVFP4', 40, 64, 36],
  ['Q1_0', 41, 128, 18],
  ['Q2_0', 42, 64, 18],
])('%s is known, with the size of its blocks', async (quantization, type, elements, bytes) => {
  const file = writeGguf({
    metadata: { ...chatMetadata, 'general.file_type': 999 },
    tensors: [{ ...oneTensor, type, shape: [elements, 2], bytes: 2 * bytes }, norm],
  });
  expect(await factsOf(file)).toMatchObject({ quantization });
});

test.each([
  [38, 'MXFP4_MOE'],
  [39, 'NVFP4'],
  [40, 'Q1_0'],
  [41, 'Q2_0'],
])('a file of type %i is in %s, though most of its bytes are not', async (type, quantization) => {
  expect(await factsOf(withMetadata({ 'general.file_type': type }))).toMatchObject({ quantization });
});

test('a ZIP archive is named, and a file that cannot be read to its end', async () => {
  await expect(factsOf(Buffer.from('PK\u0003\u0004 and what follows here'))).rejects.toThrow('a ZIP archive');
  const cut = { size: 1000, read: async () => new Uint8Array(writeGguf({}).subarray(0, 10)) };
  await expect(readHeader(cut, readGguf)).rejects.toThrow('could not be read to its end');
});

test('more entries than any model has are refused before they are read', async () => {
  const bytes = Buffer.concat([writeGguf({}), Buffer.alloc(70_000)]);
  bytes.writeBigUInt64LE(66_000n, 16);
  await expect(factsOf(bytes)).rejects.toThrow('65536 are allowed');
});

test('a chat template of more than 1 MiB is refused', async () => {
  const template = `{{ messages[0].content }}${'x'.repeat(2 ** 20)}`;
  await expect(factsOf(withMetadata({ 'tokenizer.chat_template': template }))).rejects.toThrow(
    'a chat template of more than 1 MiB',
  );
});

test('a header of more than 128 MiB is not read on', async () => {
  const start = writeGguf({ metadata: { k: 'x', l: 'y' } });
  const size = 2 ** 40;
  start.writeBigUInt64LE(BigInt(2 ** 39), start.indexOf('x') - 8);
  const read: number[] = [];
  const file = {
    size,
    async read(length: number) {
      read.push(length);
      return Buffer.concat([start, Buffer.alloc(length - start.length)]);
    },
  };
  await expect(readHeader(file, readGguf)).rejects.toThrow(/header of more than/);
  expect(Math.max(...read)).toBeLessThanOrEqual(2 ** 27);
});
