import { createHash } from 'node:crypto';

import type { TransformersChatVariant } from '../../../src/catalog/catalog.ts';
import { decoderGraph, type TinyConfig } from './decoder-graph.ts';

/** Ids after the 256 bytes. */
const SPECIAL = ['<|start|>', '<|end|>', '<|stop|>'];
export const STOP = 258;

const FOLDER = 'tiny';
const CONTEXT = 256;

const config: TinyConfig = {
  vocabulary: 256 + SPECIAL.length,
  hidden: 64,
  heads: 4,
  layers: 2,
  intermediate: 96,
  positions: CONTEXT,
  // Small letters and spaces alone, so that replies are text; the turn ends only by a bias of the request's.
  bias: Array.from({ length: 256 + SPECIAL.length }, (_, id) => {
    if (id === STOP) return -20;
    return (id >= 97 && id <= 122) || id === 32 ? 0 : -1e4;
  }),
};

/** GPT-2's way to write bytes as visible characters (`bytes_to_unicode`): the vocabulary of byte-level tokenizers. */
function byteCharacters(): string[] {
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => {
    const visible =
      (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || (byte >= 174 && byte <= 255);
    return String.fromCharCode(visible ? byte : next++);
  });
}

const tokenizer = {
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

const tokenizerConfig = {
  tokenizer_class: 'GPT2Tokenizer',
  bos_token: '<|start|>',
  eos_token: '<|stop|>',
  chat_template:
    '{% for message in messages %}<|start|>{{ message.role }}\n{{ message.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|start|>assistant\n{% endif %}',
};

const modelConfig = {
  architectures: ['LlamaForCausalLM'],
  model_type: 'llama',
  vocab_size: config.vocabulary,
  hidden_size: config.hidden,
  num_hidden_layers: config.layers,
  num_attention_heads: config.heads,
  num_key_value_heads: config.heads,
  max_position_embeddings: CONTEXT,
};

export type TinyFiles = Record<string, Uint8Array>;

const json = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));

/** The files of a chat model of 2 layers with random weights, by their names; the same in every run. */
export function tinyModel(): TinyFiles {
  return {
    'config.json': json(modelConfig),
    'generation_config.json': json({ eos_token_id: [STOP] }),
    'tokenizer.json': json(tokenizer),
    'tokenizer_config.json': json(tokenizerConfig),
    'onnx/model.onnx': decoderGraph(config),
  };
}

/** A variant over such files, at `url` and below. */
export function tinyVariant(
  files: TinyFiles,
  url: string,
  more: Pick<TransformersChatVariant, 'name' | 'device'>,
): TransformersChatVariant {
  return {
    engine: 'transformers',
    license: 'CC0-1.0',
    contextLength: CONTEXT,
    files: Object.entries(files).map(([name, bytes]) => ({
      path: `${FOLDER}/${more.name}/${name}`,
      bytes: bytes.length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
      url: `${url}/${more.name}/${name}`,
    })),
    ...more,
  };
}
