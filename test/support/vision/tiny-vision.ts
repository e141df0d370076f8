import { CONTROL, F32, type GgufContents, NORMAL, writeGguf } from '../write-gguf.ts';

type Tensor = NonNullable<GgufContents['tensors']>[number];

/** SmolVLM's template: it takes contents as parts alone. */
const TEMPLATE = [
  "<|im_start|>{% for message in messages %}{{ message['role'] | capitalize }}",
  "{% if message['content'][0]['type'] == 'image' %}{{ ':' }}{% else %}{{ ': ' }}{% endif %}",
  "{% for line in message['content'] %}{% if line['type'] == 'text' %}{{ line['text'] }}",
  "{% elif line['type'] == 'image' %}{{ '<image>' }}{% endif %}{% endfor %}<end_of_utterance>\n{% endfor %}",
  "{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}",
].join('');

const CONTEXT = 2048;
const WIDTH = 64;
const HEADS = 2;
const LAYERS = 2;
const INNER = 128;
/** Side of a tile in the picture encoder. 64 × 64 pixels have 16 patches, which the projector turns into 4 tokens. */
const TILE = 64;
const PATCH = 16;
const SCALE = 2;
/** Pictures are scaled to as many on the longer side, then cut into them. */
const TILES = 4;

/** Seed with which the likeliest tokens of the tests are well ahead of the next: rounding does not decide. */
const SEED = 57;

interface Encoder {
  /** Pixels of a tile's side. */
  tile: number;
  blocks: number;
}

/**
 * A model of SmolVLM's architecture (a Llama, and a projector of type `idefics3`) with fixed random weights. It says nonsense.
 * Its encoder of pictures may be larger, to take a time that can be measured.
 */
export function tinyVision(encoder: Encoder = { tile: TILE, blocks: 1 }): {
  model: Buffer<ArrayBuffer>;
  projector: Buffer<ArrayBuffer>;
} {
  const random = new Random(SEED);
  return { model: languageModel(random), projector: visionProjector(random, encoder) };
}

/** The language model alone, with two heads of that size in each layer. */
export const tinyChat = (headSize: number): Buffer<ArrayBuffer> =>
  languageModel(new Random(SEED), HEADS * headSize);

function languageModel(random: Random, width = WIDTH): Buffer<ArrayBuffer> {
  const { tokens, types, speakable } = vocabulary();
  const layers = Array.from({ length: LAYERS }, (_, index) => `blk.${index}.`).flatMap((layer) => [
    ones(`${layer}attn_norm.weight`, width),
    ...['attn_q', 'attn_k', 'attn_v', 'attn_output'].map((name) =>
      random.tensor(`${layer}${name}.weight`, [width, width]),
    ),
    ones(`${layer}ffn_norm.weight`, width),
    random.tensor(`${layer}ffn_gate.weight`, [width, INNER]),
    random.tensor(`${layer}ffn_up.weight`, [width, INNER]),
    random.tensor(`${layer}ffn_down.weight`, [INNER, width]),
  ]);
  const output = random.tensor('output.weight', [width, tokens.length]);
  // It says seven letters alone: other tokens are never the likeliest.
  for (let token = 0; token < tokens.length; token++)
    if (!speakable.has(token)) output.data?.fill(0, token * width * 4, (token + 1) * width * 4);
  return writeGguf({
    metadata: {
      'general.architecture': 'llama',
      'general.name': 'Tiny Vision',
      'general.license': 'mit',
      'general.file_type': 0,
      'llama.context_length': CONTEXT,
      'llama.embedding_length': width,
      'llama.block_count': LAYERS,
      'llama.feed_forward_length': INNER,
      'llama.attention.head_count': HEADS,
      'llama.attention.head_count_kv': HEADS,
      'llama.attention.layer_norm_rms_epsilon': { f32: 1e-5 },
      'llama.rope.dimension_count': width / HEADS,
      'llama.vocab_size': tokens.length,
      'tokenizer.ggml.model': 'gpt2',
      'tokenizer.ggml.pre': 'smollm',
      'tokenizer.ggml.tokens': tokens,
      'tokenizer.ggml.token_type': { i32s: types },
      'tokenizer.ggml.merges': ['t h', 'h e', 'Ċ Ċ'],
      'tokenizer.ggml.bos_token_id': tokens.indexOf('<|im_start|>'),
      'tokenizer.ggml.eos_token_id': tokens.indexOf('<end_of_utterance>'),
      'tokenizer.ggml.add_bos_token': false,
      'tokenizer.chat_template': TEMPLATE,
    },
    tensors: [
      random.tensor('token_embd.weight', [width, tokens.length], 1),
      ones('output_norm.weight', width),
      output,
      ...layers,
    ],
  });
}

function visionProjector(random: Random, { tile, blocks }: Encoder): Buffer<ArrayBuffer> {
  const linear = (name: string, from: number, to: number) => [
    random.tensor(`${name}.weight`, [from, to]),
    random.tensor(`${name}.bias`, [to], 0.02),
  ];
  const norm = (name: string) => [
    ones(`${name}.weight`, WIDTH),
    random.tensor(`${name}.bias`, [WIDTH], 0.02),
  ];
  return writeGguf({
    metadata: {
      'general.architecture': 'clip',
      'general.name': 'Tiny Vision',
      'general.file_type': 0,
      'clip.has_vision_encoder': true,
      'clip.projector_type': 'idefics3',
      'clip.use_gelu': true,
      'clip.vision.image_size': tile,
      'clip.vision.preproc_image_size': tile * TILES,
      'clip.vision.patch_size': PATCH,
      'clip.vision.embedding_length': WIDTH,
      'clip.vision.feed_forward_length': INNER,
      'clip.vision.projection_dim': WIDTH,
      'clip.vision.block_count': blocks,
      'clip.vision.attention.head_count': HEADS,
      'clip.vision.attention.layer_norm_epsilon': { f32: 1e-6 },
      'clip.vision.image_mean': { f32s: [0.5, 0.5, 0.5] },
      'clip.vision.image_std': { f32s: [0.5, 0.5, 0.5] },
      'clip.vision.projector.scale_factor': SCALE,
    },
    tensors: [
      random.tensor('v.patch_embd.weight', [PATCH, PATCH, 3, WIDTH]),
      random.tensor('v.patch_embd.bias', [WIDTH], 0.02),
      random.tensor('v.position_embd.weight', [WIDTH, (tile / PATCH) ** 2], 0.3),
      ...Array.from({ length: blocks }, (_, index) => `v.blk.${index}.`).flatMap((block) => [
        ...norm(`${block}ln1`),
        ...linear(`${block}attn_q`, WIDTH, WIDTH),
        ...linear(`${block}attn_k`, WIDTH, WIDTH),
        ...linear(`${block}attn_v`, WIDTH, WIDTH),
        ...linear(`${block}attn_out`, WIDTH, WIDTH),
        ...norm(`${block}ln2`),
        ...linear(`${block}ffn_up`, WIDTH, INNER),
        ...linear(`${block}ffn_down`, INNER, WIDTH),
      ]),
      ...norm('v.post_ln'),
      random.tensor('mm.model.fc.weight', [WIDTH * SCALE * SCALE, WIDTH]),
    ],
  });
}

/** GPT-2's 256 bytes, and what idefics3 puts around tiles: its tokens, and two line feeds. */
function vocabulary(): { tokens: string[]; types: number[]; speakable: Set<number> } {
  const printable = (byte: number): boolean =>
    (byte >= 33 && byte <= 126) || (byte >= 161 && byte !== 173 && byte <= 255);
  let moved = 256;
  const bytes = Array.from({ length: 256 }, (_, byte) =>
    String.fromCodePoint(printable(byte) ? byte : moved++),
  );
  const rows = Array.from({ length: 4 }, (_, row) => row + 1);
  const special = [
    '<|im_start|>',
    '<end_of_utterance>',
    '<fake_token_around_image>',
    '<global-img>',
    ...rows.flatMap((row) => rows.map((column) => `<row_${row}_col_${column}>`)),
  ];
  const normal = [...bytes, 'th', 'he', 'ĊĊ'];
  return {
    tokens: [...normal, ...special],
    types: [...normal.map(() => NORMAL), ...special.map(() => CONTROL)],
    speakable: new Set([...'aeinrst'].map((letter) => letter.charCodeAt(0))),
  };
}

const f32 = (name: string, shape: number[], values: Float32Array<ArrayBuffer>): Tensor => ({
  name,
  shape,
  type: F32,
  bytes: values.byteLength,
  data: Buffer.from(values.buffer),
});

const ones = (name: string, length: number): Tensor => f32(name, [length], new Float32Array(length).fill(1));

/** Mulberry32: the same numbers everywhere. */
class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** Even values about 0. `deviation` by default keeps the length of what is multiplied by it. */
  tensor(name: string, shape: number[], deviation?: number): Tensor {
    const inputs = shape.slice(0, -1).reduce((product, each) => product * each, 1);
    const scale = (deviation ?? 1 / Math.sqrt(inputs)) * Math.sqrt(12);
    const length = shape.reduce((product, each) => product * each, 1);
    return f32(
      name,
      shape,
      Float32Array.from({ length }, () => (this.#next() - 0.5) * scale),
    );
  }

  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
}
