import { readFile } from 'node:fs/promises';

import { ByteCursor } from '../../src/gguf/byte-cursor.ts';
import { align, readGguf } from '../../src/gguf/read-gguf.ts';
import { miniLmGguf, POOLINGS } from './mini-lm-gguf.ts';
import { F32, type GgufContents, ggufEntry, ggufTensorInfo } from './write-gguf.ts';

type Tensor = NonNullable<GgufContents['tensors']>[number];

/** Position of the number of tensors in a file; that of metadata entries follows. */
const COUNT_AT = 8;
const ENTRIES_AT = 16;

/** A tensor of the same random numbers at each call, around `mean`. */
function random(name: string, shape: number[], mean = 0): Tensor {
  let seed = [...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) >>> 0, 7);
  const values = Float32Array.from({ length: shape.reduce((a, b) => a * b) }, () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return mean + (seed / 2 ** 32 - 0.5) / 4;
  });
  const data = Buffer.from(values.buffer);
  return { name, shape, type: F32, bytes: data.length, data };
}

/** A BERT with a random classifier, as cross-encoders have: MiniLM's own layers below it. */
export const bertReranker = (): Promise<Buffer> =>
  miniLmGguf(POOLINGS.rank, [
    random('cls.weight', [384, 384]),
    random('cls.bias', [384]),
    random('cls.output.weight', [384, 1]),
    random('cls.output.bias', [1]),
  ]);

/** Sizes of the Qwen3 reranker, in the place of the Llama's. */
const SIZES = {
  block_count: 2,
  embedding_length: 64,
  feed_forward_length: 128,
  'attention.head_count': 2,
  'attention.head_count_kv': 1,
  'rope.dimension_count': 32,
};

/** A small Qwen3 reranker with random weights, and a Llama's tokenizer. @param llama GGUF of the Llama */
export async function qwenReranker(llama: string): Promise<Buffer> {
  const file = await readFile(llama);
  const gguf = readGguf(new ByteCursor(file, file.length));
  const text = file.subarray(0, gguf.tensorsAt).toString('latin1');
  const head = Buffer.from(text.replaceAll('llama', 'qwen3'), 'latin1');
  for (const [name, size] of Object.entries(SIZES))
    head.writeUInt32LE(size, gguf.metadata.get(`llama.${name}`)?.at ?? NaN);
  const entries = Object.entries({
    'qwen3.pooling_type': POOLINGS.rank,
    'qwen3.classifier.output_labels': ['yes', 'no'],
    'tokenizer.chat_template.rerank':
      '<|im_start|>user\nQuery: {query}\nDocument: {document}<|im_end|>\n<|im_start|>assistant\n',
  }).map(ggufEntry);
  const vocabulary = gguf.tensors.find(({ name }) => name === 'token_embd.weight')?.shape[1] ?? 0;
  const tensors = [
    random('token_embd.weight', [64, vocabulary]),
    random('output_norm.weight', [64], 1),
    random('cls.output.weight', [64, 2]),
    ...Array.from({ length: SIZES.block_count }, (_, layer) =>
      LAYER.map(([name, shape, mean]) => random(`blk.${layer}.${name}.weight`, shape, mean)),
    ).flat(),
  ];
  head.writeBigUInt64LE(BigInt(tensors.length), COUNT_AT);
  head.writeBigUInt64LE(head.readBigUInt64LE(ENTRIES_AT) + BigInt(entries.length), ENTRIES_AT);
  let offset = 0;
  const infos = tensors.map((tensor) => {
    const info = ggufTensorInfo(tensor, offset);
    offset += align(tensor.bytes, gguf.alignment);
    return info;
  });
  const padded = (bytes: Buffer): Buffer =>
    Buffer.concat([bytes, Buffer.alloc(align(bytes.length, gguf.alignment) - bytes.length)]);
  return Buffer.concat([
    padded(Buffer.concat([head, ...entries, ...infos])),
    ...tensors.map(({ data = Buffer.alloc(0) }) => padded(data)),
  ]);
}

/** Tensors of a layer: name, shape, mean. */
const LAYER: [string, number[], number?][] = [
  ['attn_norm', [64], 1],
  ['attn_q', [64, 64]],
  ['attn_k', [64, 32]],
  ['attn_v', [64, 32]],
  ['attn_output', [64, 64]],
  ['attn_q_norm', [32], 1],
  ['attn_k_norm', [32], 1],
  ['ffn_norm', [64], 1],
  ['ffn_gate', [64, 128]],
  ['ffn_up', [64, 128]],
  ['ffn_down', [128, 64]],
];
