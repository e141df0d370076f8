import { type ByteCursor, FormatError } from './byte-cursor.ts';

/** Versions of GGUF that are read, little-endian. The ggml project has the specification. Version 1 is no longer used. */
const VERSIONS = new Set([2, 3]);
/** `VERSIONS` as read from a big-endian file. */
const BIG_ENDIAN = new Set([2 * 2 ** 24, 3 * 2 ** 24]);
const MAX_NAME_BYTES = 65_535;
const MAX_TEXT_BYTES = 2 ** 20;
const MAX_DIMENSIONS = 4;
/** Maximum number of entries, and of tensors. The largest models have some hundred entries and some thousand tensors. */
const MAX_ENTRIES = 65_536;
/**
 * Maximum size of all names and texts of a header, and number of texts in its lists. The
 * largest vocabularies, with their merges, have a million.
 */
const MAX_TEXTS_BYTES = 8 * 2 ** 20;
const MAX_LISTED_TEXTS = 2 ** 21;
const DEFAULT_ALIGNMENT = 32;

/** Size of a metadata value by its type. Strings (8) and arrays (9) begin with their length. */
const SCALAR_BYTES = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8];
const FLOAT_32 = 6;
const FLOAT_64 = 12;
const FLOATS = new Set([FLOAT_32, FLOAT_64]);
/** Types of signed integers. */
const SIGNED = new Set([1, 3, 5, 11]);
const STRING = 8;
const ARRAY = 9;

export interface GgufValue {
  /** Position of the value in the file. An array begins with its element type and length. */
  at: number;
  /** Value; null for an array, or a text of more than 1 MiB. */
  value: number | string | null;
}

export interface GgufTensor {
  name: string;
  /** Dimensions, row length first. */
  shape: number[];
  /** ggml's number for the element type. */
  type: number;
  /** Bytes from the start of the tensor data. */
  offset: number;
}

export interface Gguf {
  metadata: Map<string, GgufValue>;
  /** Position of the list of tensors in the file. */
  tensorsAt: number;
  tensors: GgufTensor[];
  alignment: number;
  /** Position of the tensor data in the file. */
  dataOffset: number;
}

/**
 * Reads the header of a GGUF file, and checks that its tensors lie within the file.
 * @throws FormatError; NeedMoreBytes
 */
export function readGguf(cursor: ByteCursor): Gguf {
  if (cursor.size < 24) throw new FormatError('is not a GGUF');
  const magic = cursor.text(4);
  if (magic === 'PK\u0003\u0004') throw new FormatError('is not a GGUF, but a ZIP archive');
  if (magic !== 'GGUF') throw new FormatError('is not a GGUF');
  const version = cursor.u32();
  if (BIG_ENDIAN.has(version))
    throw new FormatError('is a big-endian GGUF, which cannot be read here: use a little-endian one');
  if (!VERSIONS.has(version)) throw new FormatError(`is a GGUF of version ${version}, and not of 2 or 3`);
  const tensorCount = entryCount(cursor, 'number of tensors');
  const entries = entryCount(cursor, 'number of metadata entries');
  const metadata = new Map<string, GgufValue>();
  const budget: TextBudget = { bytes: MAX_TEXTS_BYTES, listed: MAX_LISTED_TEXTS };
  for (let entry = 0; entry < entries; entry++) {
    const key = name(cursor, budget);
    if (metadata.has(key)) throw new FormatError(`has ${key} twice in its metadata`);
    const type = cursor.u32();
    metadata.set(key, { at: cursor.position, value: readValue(cursor, key, type, budget) });
  }
  const alignment = metadata.get('general.alignment')?.value ?? DEFAULT_ALIGNMENT;
  if (typeof alignment !== 'number' || alignment === 0 || alignment % 8 !== 0)
    throw new FormatError(`gives ${alignment} as its tensors' alignment`);
  const tensorsAt = cursor.position;
  const tensors = Array.from({ length: tensorCount }, () => readTensor(cursor, budget));
  const dataOffset = align(cursor.position, alignment);
  for (const tensor of tensors) {
    const end = dataOffset + tensor.offset + tensorBytes(tensor);
    if (end <= cursor.size) continue;
    const message = `says that its tensor ${tensor.name} ends at byte ${end}, and has ${cursor.size}: it is cut short, or its server compresses it`;
    throw new FormatError(message);
  }
  return { metadata, tensorsAt, tensors, alignment, dataOffset };
}

export const align = (position: number, alignment: number): number =>
  Math.ceil(position / alignment) * alignment;

/** Size of a tensor; 0 if its element type is unknown, so that only its start is checked. */
export function tensorBytes({ type, shape }: GgufTensor): number {
  const { elements, bytes } = TENSOR_TYPES.get(type) ?? { elements: 1, bytes: 0 };
  return (shape.reduce((product, length) => product * length, 1) / elements) * bytes;
}

/**
 * Reads strings of an array, by their indexes.
 * @param at position of the array
 * @param isWanted whether to read a string, by its index and its first byte (0 if it is empty)
 */
export function readTexts(
  cursor: ByteCursor,
  at: number,
  isWanted: (index: number, firstByte: number) => boolean,
): ReadonlyMap<number, string> {
  cursor.position = at;
  const texts = new Map<number, string>();
  if (cursor.u32() !== STRING) return texts;
  const length = cursor.count('length of a list');
  for (let index = 0; index < length; index++) {
    const bytes = cursor.count('length of a text');
    const start = cursor.position;
    const firstByte = bytes > 0 ? cursor.unsigned(1) : 0;
    cursor.position = start;
    if (isWanted(index, firstByte)) texts.set(index, cursor.text(bytes));
    else cursor.skip(bytes);
  }
  return texts;
}

/** Reads an array of integers; null if it has other elements, or too many. @param at position of the array */
export function readNumbers(cursor: ByteCursor, at: number, maxLength: number): number[] | null {
  cursor.position = at;
  const type = cursor.u32();
  const bytes = FLOATS.has(type) ? 0 : (SCALAR_BYTES[type] ?? 0);
  const length = cursor.count('length of a list');
  return bytes > 0 && length <= maxLength ? Array.from({ length }, () => cursor.unsigned(bytes)) : null;
}

/** Reads an integer. Exact up to 2^53; a negative number of 8 bytes may be inexact, but stays negative. */
function integer(cursor: ByteCursor, type: number, bytes: number): number {
  const value = cursor.unsigned(bytes);
  const isNegative = SIGNED.has(type) && value >= 2 ** (8 * bytes - 1);
  return isNegative ? Math.min(-1, value - 2 ** (8 * bytes)) : value;
}

/** Whether an array of strings contains all these short texts. @param at position of the array */
export function hasTexts(cursor: ByteCursor, at: number, wanted: readonly string[]): boolean {
  cursor.position = at;
  if (cursor.u32() !== STRING) return false;
  const missing = new Set(wanted);
  const longest = Math.max(...wanted.map(({ length }) => length));
  for (let rest = cursor.count('length of a list'); rest > 0 && missing.size > 0; rest--) {
    const bytes = cursor.count('length of a text');
    if (bytes > longest) cursor.skip(bytes);
    else missing.delete(cursor.text(bytes));
  }
  return missing.size === 0;
}

function entryCount(cursor: ByteCursor, what: string): number {
  const count = cursor.count(what);
  if (count > MAX_ENTRIES) throw new FormatError(`gives ${count} as the ${what}; ${MAX_ENTRIES} are allowed`);
  return count;
}

/** Remaining limits for a header's texts. */
interface TextBudget {
  /** Bytes of names and texts. */
  bytes: number;
  /** Number of texts in lists. */
  listed: number;
}

function readText(cursor: ByteCursor, length: number, budget: TextBudget): string {
  budget.bytes -= length;
  if (budget.bytes < 0)
    throw new FormatError(`has more than ${MAX_TEXTS_BYTES} bytes of names and texts in its header`);
  return cursor.text(length);
}

function name(cursor: ByteCursor, budget: TextBudget): string {
  const length = cursor.count('length of a name');
  if (length > MAX_NAME_BYTES)
    throw new FormatError(`has a name of ${length} bytes in its header; the limit is ${MAX_NAME_BYTES}`);
  return readText(cursor, length, budget);
}

function readValue(cursor: ByteCursor, key: string, type: number, budget: TextBudget): GgufValue['value'] {
  const what = `length of ${key}`;
  if (type === STRING) {
    const length = cursor.count(what);
    if (length <= MAX_TEXT_BYTES) return readText(cursor, length, budget);
    cursor.skip(length);
    return null;
  }
  if (type === ARRAY) {
    skipArray(cursor, key, what, budget);
    return null;
  }
  const bytes = SCALAR_BYTES[type];
  if (bytes === undefined) throw new FormatError(`has a value of unknown type ${type} for ${key}`);
  if (type === FLOAT_32) return cursor.f32();
  return type === FLOAT_64 ? cursor.f64() : integer(cursor, type, bytes);
}

function skipArray(cursor: ByteCursor, key: string, what: string, budget: TextBudget): void {
  const element = cursor.u32();
  const length = cursor.count(what);
  const bytes = SCALAR_BYTES[element] ?? 0;
  if (bytes > 0) return cursor.skip(bytes * length);
  // Only a hostile file has a list of lists.
  if (element !== STRING) throw new FormatError(`has elements of unknown type ${element} in ${key}`);
  budget.listed -= length;
  if (budget.listed < 0)
    throw new FormatError(
      `has more than ${MAX_LISTED_TEXTS} texts in its lists, ${length} of them in ${key}`,
    );
  for (let i = 0; i < length; i++) cursor.skip(cursor.count(what));
}

function readTensor(cursor: ByteCursor, budget: TextBudget): GgufTensor {
  const tensor = name(cursor, budget);
  const dimensions = cursor.u32();
  if (dimensions > MAX_DIMENSIONS)
    throw new FormatError(`gives its tensor ${tensor} ${dimensions} dimensions`);
  const shape = Array.from({ length: dimensions }, () => cursor.u64());
  return { name: tensor, shape, type: cursor.u32(), offset: cursor.u64() };
}

interface TensorType {
  name: string;
  /** Number of elements in a block. */
  elements: number;
  /** Size of a block in bytes. */
  bytes: number;
}

/** Element types that llama.cpp reads: ggml's number, the name, and the elements and bytes of a block. */
const TYPES = `
  0 F32 1 4, 1 F16 1 2, 2 Q4_0 32 18, 3 Q4_1 32 20, 6 Q5_0 32 22, 7 Q5_1 32 24, 8 Q8_0 32 34, 9 Q8_1 32 36,
  10 Q2_K 256 84, 11 Q3_K 256 110, 12 Q4_K 256 144, 13 Q5_K 256 176, 14 Q6_K 256 210, 15 Q8_K 256 292,
  16 IQ2_XXS 256 66, 17 IQ2_XS 256 74, 18 IQ3_XXS 256 98, 19 IQ1_S 256 50, 20 IQ4_NL 32 18,
  21 IQ3_S 256 110, 22 IQ2_S 256 82, 23 IQ4_XS 256 136, 24 I8 1 1, 25 I16 1 2, 26 I32 1 4, 27 I64 1 8,
  28 F64 1 8, 29 IQ1_M 256 56, 30 BF16 1 2, 34 TQ1_0 256 54, 35 TQ2_0 256 66, 39 MXFP4 32 17,
  40 NVFP4 64 36, 41 Q1_0 128 18, 42 Q2_0 64 18
`;

/** Element types by ggml's number. */
export const TENSOR_TYPES: ReadonlyMap<number, TensorType> = new Map(
  TYPES.split(',').map((row) => {
    const [number, label = '', elements, bytes] = row.trim().split(' ');
    return [Number(number), { name: label, elements: Number(elements), bytes: Number(bytes) }];
  }),
);
