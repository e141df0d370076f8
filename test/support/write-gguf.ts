type Value = number | string | string[];

export interface GgufContents {
  metadata?: Record<string, Value>;
  tensors?: { name: string; shape: number[]; type: number; bytes: number }[];
}

const ALIGNMENT = 32;

/** A GGUF with that metadata (numbers as u32), and tensors of zeros. */
export function writeGguf({ metadata = {}, tensors = [] }: GgufContents): Buffer<ArrayBuffer> {
  const entries = Object.entries(metadata);
  let offset = 0;
  const infos = tensors.map(({ name, shape, type, bytes }) => {
    const info = Buffer.concat([text(name), u32(shape.length), ...shape.map(u64), u32(type), u64(offset)]);
    offset += Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
    return info;
  });
  const head = Buffer.concat([
    Buffer.from('GGUF'),
    u32(3),
    u64(tensors.length),
    u64(entries.length),
    ...entries.flatMap(([key, value]) => [text(key), ...typed(value)]),
    ...infos,
  ]);
  const padding = Buffer.alloc(Math.ceil(head.length / ALIGNMENT) * ALIGNMENT - head.length);
  return Buffer.concat([head, padding, Buffer.alloc(offset)]);
}

/** A header that describes a small chat model. */
export const chatMetadata: Record<string, Value> = {
  'general.architecture': 'llama',
  'general.name': 'Tiny Llama',
  'general.license': 'mit',
  'general.file_type': 7,
  'llama.context_length': 4096,
  'llama.block_count': 2,
  'llama.embedding_length': 64,
  'llama.attention.head_count': 4,
  'llama.attention.head_count_kv': 2,
  'tokenizer.chat_template': '{{ messages }}',
};

export const oneTensor = { name: 'token_embd.weight', shape: [32, 2], type: 8, bytes: 68 };

const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};
const u64 = (value: number): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
};
const text = (value: string): Buffer => Buffer.concat([u64(Buffer.byteLength(value)), Buffer.from(value)]);

function typed(value: Value): Buffer[] {
  if (typeof value === 'number') return [u32(4), u32(value)];
  if (typeof value === 'string') return [u32(8), text(value)];
  return [u32(9), u32(8), u64(value.length), ...value.map(text)];
}
