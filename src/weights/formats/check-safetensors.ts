import { z } from 'zod';
import { Fault, type Head } from './byte-cursor.ts';

/** The format's own limit. */
const LONGEST_HEAD = 100_000_000;

/** Free text beside the tensors. */
const METADATA = '__metadata__';

const offset = z.int().nonnegative();
const headSchema = z.record(
  z.string(),
  z.object({ dtype: z.string(), shape: z.array(offset).max(16), data_offsets: z.tuple([offset, offset]) }),
);

/** Bits of an element by its type. Of one not listed, only the place is checked. */
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

/** Whether the head of a safetensors file is whole, and its tensors lie within the file. @throws Fault; EndOfHead */
export function checkSafetensors(head: Head): void {
  if (head.size < 8) throw new Fault(`is no safetensors file: it has ${head.size} bytes`);
  const length = head.count('length of its head');
  if (length > LONGEST_HEAD) throw new Fault(`gives ${length} bytes as the length of its head`);
  const entries = parse(head.text(length));
  const room = head.size - head.position;
  for (const [
    name,
    {
      dtype,
      shape,
      data_offsets: [begin, end],
    },
  ] of Object.entries(entries)) {
    if (begin > end || end > room) {
      throw new Fault(
        `says that its tensor ${name} lies at ${begin} to ${end}, and has ${room} bytes of tensors`,
      );
    }
    const bits = BITS[dtype];
    const bytes = shape.reduce((product, each) => product * each, (bits ?? 0) / 8);
    if (bits !== undefined && bytes !== end - begin) {
      throw new Fault(`gives its tensor ${name} ${end - begin} bytes, and a shape that takes ${bytes}`);
    }
  }
}

function parse(text: string): z.output<typeof headSchema> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Fault('has a head that is not JSON');
  }
  if (typeof value === 'object' && value !== null) Reflect.deleteProperty(value, METADATA);
  const parsed = headSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Fault(
    `has a head that lists no tensors: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`,
  );
}
