import { z } from 'zod';
import { FormatError, type ByteCursor } from '../../gguf/byte-cursor.ts';

/** The format's own limit. */
const MAX_HEADER_BYTES = 100_000_000;

/** Free text beside the tensors. */
const METADATA = '__metadata__';

const offset = z.int().nonnegative();
const headerSchema = z.record(
  z.string(),
  z.object({ dtype: z.string(), shape: z.array(offset).max(16), data_offsets: z.tuple([offset, offset]) }),
);

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

/** Checks that the header is complete and its tensors lie within the file. @throws FormatError; NeedMoreBytes */
export function checkSafetensors(cursor: ByteCursor): void {
  if (cursor.size < 8) throw new FormatError(`is no safetensors file: it has ${cursor.size} bytes`);
  const length = cursor.count('length of its header');
  if (length > MAX_HEADER_BYTES) throw new FormatError(`gives ${length} bytes as the length of its header`);
  const entries = parse(cursor.text(length));
  const room = cursor.size - cursor.position;
  for (const [
    name,
    {
      dtype,
      shape,
      data_offsets: [begin, end],
    },
  ] of Object.entries(entries)) {
    if (begin > end || end > room) {
      throw new FormatError(
        `says that its tensor ${name} lies at ${begin} to ${end}, and has ${room} bytes of tensors`,
      );
    }
    const bits = BITS[dtype];
    const bytes = shape.reduce((product, each) => product * each, (bits ?? 0) / 8);
    if (bits !== undefined && bytes !== end - begin) {
      throw new FormatError(`gives its tensor ${name} ${end - begin} bytes, and a shape that takes ${bytes}`);
    }
  }
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
