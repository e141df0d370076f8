import { readFile } from 'node:fs/promises';

import { readHeader, startOfBlob } from '../../src/gguf/byte-cursor.ts';
import { readSafetensors } from '../../src/gguf/read-safetensors.ts';
import { type GgufContents, writeGguf } from './write-gguf.ts';

const FOLDER = 'public/models/all-minilm-l6-v2';

/** Names of a BERT's tensors in safetensors, and in a GGUF. */
const NAMES: [RegExp, string][] = [
  [/^embeddings\.word_embeddings\./, 'token_embd.'],
  [/^embeddings\.token_type_embeddings\./, 'token_types.'],
  [/^embeddings\.position_embeddings\./, 'position_embd.'],
  [/^embeddings\.LayerNorm\./, 'token_embd_norm.'],
  [/^encoder\.layer\.(\d+)\.attention\.self\.(q|k|v)[a-z]+\./, 'blk.$1.attn_$2.'],
  [/^encoder\.layer\.(\d+)\.attention\.output\.dense\./, 'blk.$1.attn_output.'],
  [/^encoder\.layer\.(\d+)\.attention\.output\.LayerNorm\./, 'blk.$1.attn_output_norm.'],
  [/^encoder\.layer\.(\d+)\.intermediate\.dense\./, 'blk.$1.ffn_up.'],
  [/^encoder\.layer\.(\d+)\.output\.dense\./, 'blk.$1.ffn_down.'],
  [/^encoder\.layer\.(\d+)\.output\.LayerNorm\./, 'blk.$1.layer_output_norm.'],
];

/** Marks the start of a word in llama.cpp's WordPiece; the tokenizer's file marks continuations (`##`). */
const phantomSpace = (token: string): string =>
  /^\[.*\]$/.test(token) ? token : token.startsWith('##') ? token.slice(2) : `▁${token}`;

/** llama.cpp's numbers of poolings. */
export const POOLINGS = { mean: 1, cls: 2, rank: 4 };

/**
 * The site's embedding model as a GGUF, with its own float32 weights: what `convert_hf_to_gguf.py` of llama.cpp writes.
 * @param more further tensors
 */
export async function miniLmGguf(
  pooling = POOLINGS.mean,
  more: NonNullable<GgufContents['tensors']> = [],
): Promise<Buffer<ArrayBuffer>> {
  const bytes = await readFile(`${FOLDER}/model.safetensors`);
  const tensors = await readHeader(startOfBlob(new Blob([bytes])), readSafetensors);
  const tokenizer = JSON.parse(await readFile(`${FOLDER}/tokenizer.json`, 'utf8')) as {
    model: { vocab: Record<string, number> };
  };
  const tokens = Object.entries(tokenizer.model.vocab)
    .toSorted(([, a], [, b]) => a - b)
    .map(([token]) => token);
  const converted = [...tensors.values()].flatMap(({ name, shape, offset, length }) => {
    const rule = NAMES.find(([pattern]) => pattern.test(name));
    if (!rule) return [];
    const data = bytes.subarray(offset, offset + length);
    return [{ name: name.replace(...rule), shape: shape.toReversed(), type: 0, bytes: length, data }];
  });
  return writeGguf({
    metadata: {
      'general.architecture': 'bert',
      'general.name': 'all-MiniLM-L6-v2',
      'general.license': 'apache-2.0',
      'general.file_type': 0,
      'bert.context_length': 512,
      'bert.embedding_length': 384,
      'bert.feed_forward_length': 1536,
      'bert.block_count': 6,
      'bert.attention.head_count': 12,
      'bert.attention.layer_norm_epsilon': { f32: 1e-12 },
      'bert.attention.causal': false,
      'bert.pooling_type': pooling,
      'tokenizer.ggml.model': 'bert',
      'tokenizer.ggml.pre': 'default',
      'tokenizer.ggml.tokens': tokens.map(phantomSpace),
      'tokenizer.ggml.token_type': { i32s: tokens.map((token) => (/^\[.*\]$/.test(token) ? 3 : 1)) },
      'tokenizer.ggml.token_type_count': 2,
      'tokenizer.ggml.padding_token_id': tokens.indexOf('[PAD]'),
      'tokenizer.ggml.unknown_token_id': tokens.indexOf('[UNK]'),
      'tokenizer.ggml.cls_token_id': tokens.indexOf('[CLS]'),
      'tokenizer.ggml.bos_token_id': tokens.indexOf('[CLS]'),
      'tokenizer.ggml.seperator_token_id': tokens.indexOf('[SEP]'),
      'tokenizer.ggml.eos_token_id': tokens.indexOf('[SEP]'),
      'tokenizer.ggml.mask_token_id': tokens.indexOf('[MASK]'),
    },
    tensors: [...converted, ...more],
  });
}
