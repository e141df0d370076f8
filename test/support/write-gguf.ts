/** A plain number is a u32. */
export type GgufMetadata = Record<
  string,
  | number
  | string
  | boolean
  | string[]
  | { f32: number }
  | { f64: number }
  | { i32: number }
  | { f32s: number[] }
  | { i32s: number[] }
>;

export interface GgufContents {
  metadata?: GgufMetadata;
  /** Zeros where no `data` is given. */
  tensors?: { name: string; shape: number[]; type: number; bytes: number; data?: Buffer }[];
}

/** Type of a tensor of floats. */
export const F32 = 0;
/** Types of tokens. */
export const NORMAL = 1;
export const CONTROL = 3;
export const USER_DEFINED = 4;

const ALIGNMENT = 32;

/** A GGUF with that metadata and those tensors. */
export function writeGguf({ metadata = {}, tensors = [] }: GgufContents): Buffer<ArrayBuffer> {
  const entries = Object.entries(metadata);
  let offset = 0;
  const infos = tensors.map((tensor) => {
    const info = ggufTensorInfo(tensor, offset);
    offset += Math.ceil(tensor.bytes / ALIGNMENT) * ALIGNMENT;
    return info;
  });
  const head = Buffer.concat([
    Buffer.from('GGUF'),
    u32(3),
    u64(tensors.length),
    u64(entries.length),
    ...entries.map(ggufEntry),
    ...infos,
  ]);
  const padding = Buffer.alloc(Math.ceil(head.length / ALIGNMENT) * ALIGNMENT - head.length);
  const padded = tensors.map(({ bytes, data }) => {
    const space = Buffer.alloc(Math.ceil(bytes / ALIGNMENT) * ALIGNMENT);
    data?.copy(space);
    return space;
  });
  return Buffer.concat([head, padding, ...padded]);
}

/** An entry of the metadata. */
export const ggufEntry = ([key, value]: [string, GgufMetadata[string]]): Buffer =>
  Buffer.concat([text(key), ...typed(value)]);

/** What a header says of a tensor. */
export const ggufTensorInfo = (
  { name, shape, type }: Pick<NonNullable<GgufContents['tensors']>[number], 'name' | 'shape' | 'type'>,
  offset: number,
): Buffer => Buffer.concat([text(name), u32(shape.length), ...shape.map(u64), u32(type), u64(offset)]);

/** A header that describes a small chat model. */
export const chatMetadata: GgufMetadata = {
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
const floats = (values: number[]): Buffer => Buffer.from(Float32Array.from(values).buffer);
const text = (value: string): Buffer => Buffer.concat([u64(Buffer.byteLength(value)), Buffer.from(value)]);

function typed(value: GgufMetadata[string]): Buffer[] {
  if (typeof value === 'number') return [u32(4), u32(value)];
  if (typeof value === 'string') return [u32(8), text(value)];
  if (typeof value === 'boolean') return [u32(7), Buffer.of(Number(value))];
  if ('f32' in value) return [u32(6), floats([value.f32])];
  if ('f64' in value) return [u32(12), Buffer.from(Float64Array.of(value.f64).buffer)];
  if ('i32' in value) return [u32(5), Buffer.from(Int32Array.of(value.i32).buffer)];
  if ('f32s' in value) return [u32(9), u32(6), u64(value.f32s.length), floats(value.f32s)];
  if ('i32s' in value)
    return [u32(9), u32(5), u64(value.i32s.length), Buffer.from(Int32Array.from(value.i32s).buffer)];
  return [u32(9), u32(8), u64(value.length), ...value.map(text)];
}
