import { CONTROL, F32, NORMAL, USER_DEFINED, writeGguf } from './write-gguf.ts';

/** Tokens of the context, and so of prompt and reply together. */
const CONTEXT = 256;
const FEED_FORWARD = 32;
/** Heads of 16 values, which are no whole block of Q8_0: the KV cache is in floats. */
const HEADS = 16;

interface Script {
  /** Chat template, without variables but `messages`. */
  template: string;
  /** The prompt that it makes of the one conversation that the model is asked. */
  prompt: string;
  /** Control tokens, which the template and the reply may have. */
  control: string[];
  /** Tokens of the reply. */
  reply: string[];
}

/** GPT-2's spelling of bytes that are printable, and of space and line feed. */
const spelled = (text: string): string => text.replaceAll(' ', 'Ġ').replaceAll('\n', 'Ċ');
const ASCII = Array.from({ length: 95 }, (_, index) => String.fromCodePoint(32 + index));

/**
 * A GGUF of GPT-2's architecture whose reply is known: its embeddings are those of positions alone, one dimension each, and
 * the output makes the next token of each.
 */
export function scriptedGguf({ template, prompt, control, reply }: Script): Buffer<ArrayBuffer> {
  const words = reply.filter((token) => !control.includes(token));
  const end = '<end>';
  const plain = [...ASCII, '\n'].map(spelled);
  const tokens = [...new Set([...plain, end, ...control, ...words])];
  const types = tokens.map((token) =>
    plain.includes(token) ? NORMAL : token === end || control.includes(token) ? CONTROL : USER_DEFINED,
  );
  const start = countTokens(prompt, tokens.slice(plain.length));
  const output = new Float32Array(tokens.length * CONTEXT);
  for (let position = 0; position < CONTEXT; position++) {
    const next = reply[position - start + 1] ?? end;
    output[tokens.indexOf(next) * CONTEXT + position] = 1;
  }
  const positions = new Float32Array(CONTEXT * CONTEXT);
  for (let position = 0; position < CONTEXT; position++) positions[position * (CONTEXT + 1)] = 1;
  const ones = new Float32Array(CONTEXT).fill(1);
  const layers: [string, number[], (Float32Array | undefined)?][] = [
    ['output_norm', [CONTEXT], ones],
    ['blk.0.attn_norm', [CONTEXT], ones],
    ['blk.0.attn_qkv', [CONTEXT, 3 * CONTEXT]],
    ['blk.0.attn_output', [CONTEXT, CONTEXT]],
    ['blk.0.ffn_norm', [CONTEXT], ones],
    ['blk.0.ffn_up', [CONTEXT, FEED_FORWARD]],
    ['blk.0.ffn_down', [FEED_FORWARD, CONTEXT]],
  ];
  const tensors: typeof layers = [
    ['token_embd.weight', [CONTEXT, tokens.length]],
    ['position_embd.weight', [CONTEXT, CONTEXT], positions],
    ['output.weight', [CONTEXT, tokens.length], output],
    ...layers.flatMap(([name, shape, data]): typeof layers => [
      [`${name}.weight`, shape, data],
      [`${name}.bias`, shape.slice(-1)],
    ]),
  ];
  return writeGguf({
    metadata: {
      'general.architecture': 'gpt2',
      'general.name': 'Scripted',
      'general.file_type': 0,
      'gpt2.context_length': CONTEXT,
      'gpt2.block_count': 1,
      'gpt2.embedding_length': CONTEXT,
      'gpt2.feed_forward_length': FEED_FORWARD,
      'gpt2.attention.head_count': HEADS,
      'gpt2.attention.layer_norm_epsilon': { f32: 1e-5 },
      'tokenizer.ggml.model': 'gpt2',
      'tokenizer.ggml.pre': 'gpt-2',
      'tokenizer.ggml.tokens': tokens,
      'tokenizer.ggml.token_type': { i32s: types },
      // llama.cpp requires one; this makes no token.
      'tokenizer.ggml.merges': ['a b'],
      'tokenizer.ggml.eos_token_id': tokens.indexOf(end),
      'tokenizer.ggml.bos_token_id': tokens.indexOf(end),
      'tokenizer.ggml.add_bos_token': false,
      'tokenizer.chat_template': template,
    },
    tensors: tensors.map(([name, shape, data]) => {
      const bytes = 4 * shape.reduce((product, length) => product * length, 1);
      return { name, shape, type: F32, bytes, ...(data && { data: Buffer.from(data.buffer) }) };
    }),
  });
}

/** Tokens of a text: those of `whole`, and a token for each other character. */
function countTokens(text: string, whole: readonly string[]): number {
  let count = 0;
  for (let at = 0; at < text.length; count++) {
    const token = whole.find((each) => text.startsWith(each, at));
    at += token?.length ?? 1;
  }
  return count;
}
