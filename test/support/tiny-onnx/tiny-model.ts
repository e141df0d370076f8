import { createHash } from 'node:crypto';

import type { VariantOf } from '../../../src/catalog/catalog.ts';
import type { SafetensorsTensor } from '../../../src/gguf/read-safetensors.ts';
import { bertGraph } from '../../../src/node/graphs/bert-graph.ts';

/** Ids after the 256 bytes. */
const SPECIAL = ['<|start|>', '<|end|>'];
const FOLDER = 'tiny';
const CONTEXT = 64;
const HIDDEN = 16;
const VOCABULARY = 256 + SPECIAL.length;

/** GPT-2's way to write bytes as visible characters (`bytes_to_unicode`): the vocabulary of byte-level tokenizers. */
function byteCharacters(): string[] {
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => {
    const visible =
      (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || (byte >= 174 && byte <= 255);
    return String.fromCharCode(visible ? byte : next++);
  });
}

/** Contents of the model's tokenizer.json. */
const tinyTokenizer = {
  version: '1.0',
  added_tokens: SPECIAL.map((content, index) => ({
    id: 256 + index,
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: true,
  })),
  normalizer: null,
  pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
  post_processor: null,
  decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
  model: {
    type: 'BPE',
    vocab: Object.fromEntries(byteCharacters().map((character, id) => [character, id])),
    merges: [],
  },
};

const tokenizerConfig = { tokenizer_class: 'GPT2Tokenizer', bos_token: '<|start|>', eos_token: '<|end|>' };

const modelConfig = {
  architectures: ['BertModel'],
  model_type: 'bert',
  vocab_size: VOCABULARY,
  hidden_size: HIDDEN,
  intermediate_size: HIDDEN,
  num_hidden_layers: 1,
  num_attention_heads: 2,
  max_position_embeddings: CONTEXT,
  type_vocab_size: 2,
  layer_norm_eps: 1e-12,
};

/** Shapes of the model's tensors, by name. */
function shapes(): Map<string, number[]> {
  const layer = 'encoder.layer.0';
  const dense = [
    'attention.self.query',
    'attention.self.key',
    'attention.self.value',
    'attention.output.dense',
  ];
  const norms = ['embeddings.LayerNorm', `${layer}.attention.output.LayerNorm`, `${layer}.output.LayerNorm`];
  return new Map([
    ['embeddings.word_embeddings.weight', [VOCABULARY, HIDDEN]],
    ['embeddings.position_embeddings.weight', [CONTEXT, HIDDEN]],
    ['embeddings.token_type_embeddings.weight', [2, HIDDEN]],
    ...[...dense, 'intermediate.dense', 'output.dense'].flatMap((name): [string, number[]][] => [
      [`${layer}.${name}.weight`, [HIDDEN, HIDDEN]],
      [`${layer}.${name}.bias`, [HIDDEN]],
    ]),
    ...norms.flatMap((name): [string, number[]][] => [
      [`${name}.weight`, [HIDDEN]],
      [`${name}.bias`, [HIDDEN]],
    ]),
  ]);
}

/** Numbers in [-1, 1), the same in every run: the "weights" (xorshift, Marsaglia 2003). */
function randomNumbers(length: number): Float32Array {
  let state = 20_261_121;
  return Float32Array.from({ length }, () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 31 - 1;
  });
}

type Tensors = ReadonlyMap<string, SafetensorsTensor>;

function weights(): { tensors: Tensors; safetensors: Uint8Array } {
  let end = 0;
  const tensors = [...shapes()].map(([name, shape]) => {
    const begin = end;
    end += shape.reduce((product, each) => product * each, 4);
    return { name, shape, begin, length: end - begin };
  });
  const header = json(
    Object.fromEntries(
      tensors.map(({ name, shape, begin, length }) => [
        name,
        { dtype: 'F32', shape, data_offsets: [begin, begin + length] },
      ]),
    ),
  );
  const prefix = Buffer.alloc(8);
  prefix.writeBigUInt64LE(BigInt(header.length));
  const start = prefix.length + header.length;
  const external = new Map(
    tensors.map(({ name, shape, begin, length }) => [name, { name, shape, offset: start + begin, length }]),
  );
  return {
    tensors: external,
    safetensors: Buffer.concat([prefix, header, new Uint8Array(randomNumbers(end / 4).buffer)]),
  };
}

interface TinyGraphOptions {
  /** Name of the file with its tensors. */
  location?: string;
  /** Chooses a tensor's place in that file. */
  place?: (tensor: SafetensorsTensor) => SafetensorsTensor;
}

export function tinyGraph({
  location = 'model.onnx_data',
  place = (tensor) => tensor,
}: TinyGraphOptions = {}): Uint8Array {
  const placed = [...weights().tensors].map(([name, tensor]) => [name, place(tensor)] as const);
  return bertGraph(modelConfig, new Map(placed), location);
}

export type TinyFiles = Record<string, Uint8Array>;

const json = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));

/** The files of an embedding model of 1 layer with random weights, by their names; the same in every run. */
export function tinyModel(): TinyFiles {
  return {
    'config.json': json(modelConfig),
    'tokenizer.json': json(tinyTokenizer),
    'tokenizer_config.json': json(tokenizerConfig),
    'onnx/model.onnx': tinyGraph(),
    'model.safetensors': weights().safetensors,
  };
}

/** A variant over such files, at `url` and below. */
export function tinyVariant(files: TinyFiles, url: string, name: string): VariantOf<'transformers'> {
  return {
    engine: 'transformers',
    name,
    license: 'CC0-1.0',
    contextLength: CONTEXT,
    dimensions: HIDDEN,
    pooling: 'mean',
    files: Object.entries(files).map(([file, bytes]) => ({
      path: `${FOLDER}/${name}/${file}`,
      bytes: bytes.length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
      url: `${url}/${name}/${file}`,
    })),
  };
}
