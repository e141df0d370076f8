import * as z from '#base/zod';
import { FormatError, type ByteCursor } from './byte-cursor.ts';

/** Maximum size of a header. The format allows 100 MB; ten thousand tensors take 2 MB. */
const MAX_HEADER_BYTES = 4 * 2 ** 20;

/** Name of an entry with free text. */
const METADATA = '__metadata__';

const offset = z.int().check(z.nonnegative());
const entrySchema = z.object({
  dtype: z.string(),
  shape: z.array(offset).check(z.maxLength(16)),
  data_offsets: z.tuple([offset, offset]),
});
type Entry = z.output<typeof entrySchema>;

/** Bits of an element, which are in its type's name. Of other types, only the offsets are checked. */
function bitsOf(type: string): number | undefined {
  const [, bits] = /^(?:BF|[FIU])(8|16|32|64)$/.exec(type === 'BOOL' ? 'U8' : type) ?? [];
  return bits === undefined ? undefined : Number(bits);
}

export interface SafetensorsTensor {
  name: string;
  shape: readonly number[];
  /** Bytes from the start of the file. */
  offset: number;
  length: number;
}

/**
 * Reads the tensors of a safetensors file, by name. Format: length of the header (8 bytes, little-endian), the
 * header in JSON, the tensors' bytes.
 * @throws FormatError if the header is malformed or a tensor is outside the file; NeedMoreBytes
 */
export function readSafetensors(cursor: ByteCursor): Map<string, SafetensorsTensor> {
  if (cursor.size < 8) throw new FormatError(`is not a safetensors file: it has ${cursor.size} bytes`);
  const headerLength = cursor.count('length of its header');
  if (headerLength > MAX_HEADER_BYTES)
    throw new FormatError(
      `gives ${headerLength} bytes as the length of its header; ${MAX_HEADER_BYTES} are allowed`,
    );
  const header = parse(cursor.text(headerLength));
  const start = cursor.position;
  const tensors = new Map<string, SafetensorsTensor>();
  // Check entries one by one and stop at the first fault: a header may have a million.
  for (const name of Object.keys(header)) {
    if (name === METADATA) continue;
    tensors.set(name, tensorOf(name, checkEntry(name, header[name]), start, cursor.size));
  }
  return tensors;
}

function tensorOf(name: string, entry: Entry, start: number, size: number): SafetensorsTensor {
  const { dtype, shape, data_offsets: offsets } = entry;
  const [begin, end] = offsets;
  const room = size - start;
  if (begin > end || end > room) {
    const message = `says that its tensor ${name} lies at ${begin} to ${end}, and has ${room} bytes of tensors`;
    throw new FormatError(message);
  }
  const length = end - begin;
  const bits = bitsOf(dtype);
  const bytes = shape.reduce((product, each) => product * each, (bits ?? 0) / 8);
  if (bits !== undefined && bytes !== length)
    throw new FormatError(`gives its tensor ${name} ${length} bytes, and a shape that takes ${bytes}`);
  return { name, shape, offset: start + begin, length };
}

function checkEntry(name: string, value: unknown): Entry {
  const parsed = entrySchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw noTensors([name, ...(issue?.path ?? [])].join('.'), issue?.message);
}

function parse(text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new FormatError('has a header that is not JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw noTensors('', 'it is no object');
  return value as Record<string, unknown>;
}

const noTensors = (path: string, why = ''): FormatError =>
  new FormatError(`has a header that lists no tensors: ${path}: ${why}`);
