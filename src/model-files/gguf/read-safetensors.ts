import * as z from '../../util/zod.ts';
import { FormatError, type ByteCursor } from './byte-cursor.ts';

/** The format's own limit. */
const MAX_HEADER_BYTES = 100_000_000;

/** Free text beside the tensors. */
const METADATA = '__metadata__';

const offset = z.int().check(z.nonnegative());
const entrySchema = z.object({
  dtype: z.string(),
  shape: z.array(offset).check(z.maxLength(16)),
  data_offsets: z.tuple([offset, offset]),
});
const headerSchema = z.record(z.string(), entrySchema);
type Entry = z.output<typeof entrySchema>;

/** Bits of an element by its type. For other types only the offsets are checked. */
const BITS: Record<string, number> = {
  F64: 64,
  I64: 64,
  U64: 64,
  F32: 32,
  I32: 32,
  U32: 32,
  F16: 16,
  BF16: 16,
  I16: 16,
  U16: 16,
  I8: 8,
  U8: 8,
  BOOL: 8,
};

export interface SafetensorsTensor {
  name: string;
  shape: readonly number[];
  /** Bytes from the start of the file. */
  offset: number;
  length: number;
}

/**
 * The tensors of a safetensors file, by name. The format: the length of the header as 8 bytes, little-endian; the header
 * as JSON; the tensors' bytes.
 * @throws FormatError when the header is malformed or a tensor is not within the file; NeedMoreBytes
 */
export function readSafetensors(cursor: ByteCursor): Map<string, SafetensorsTensor> {
  if (cursor.size < 8) throw new FormatError(`is no safetensors file: it has ${cursor.size} bytes`);
  const headerLength = cursor.count('length of its header');
  if (headerLength > MAX_HEADER_BYTES)
    throw new FormatError(`gives ${headerLength} bytes as the length of its header`);
  const entries = Object.entries(parse(cursor.text(headerLength)));
  const start = cursor.position;
  return new Map(entries.map(([name, entry]) => [name, tensorOf(name, entry, start, cursor.size)]));
}

function tensorOf(name: string, entry: Entry, start: number, size: number): SafetensorsTensor {
  const { dtype, shape, data_offsets: offsets } = entry;
  const [begin, end] = offsets;
  const room = size - start;
  if (begin > end || end > room) {
    throw new FormatError(
      `says that its tensor ${name} lies at ${begin} to ${end}, and has ${room} bytes of tensors`,
    );
  }
  const length = end - begin;
  const bits = BITS[dtype];
  const bytes = shape.reduce((product, each) => product * each, (bits ?? 0) / 8);
  if (bits !== undefined && bytes !== length) {
    throw new FormatError(`gives its tensor ${name} ${length} bytes, and a shape that takes ${bytes}`);
  }
  return { name, shape, offset: start + begin, length };
}

function parse(text: string): z.output<typeof headerSchema> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new FormatError('has a header that is not JSON');
  }
  if (typeof value === 'object' && value !== null) Reflect.deleteProperty(value, METADATA);
  const parsed = headerSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new FormatError(
    `has a header that lists no tensors: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`,
  );
}
