import { FormatError, type ByteCursor } from './byte-cursor.ts';

/** Format: GGUF as specified by the ggml project. Little-endian. No current file uses version 1. */
const VERSIONS = new Set([2, 3]);
const MAX_NAME_BYTES = 65_535;
const MAX_DIMENSIONS = 4;
const DEFAULT_ALIGNMENT = 32;

/** Bytes of a metadata value by its type; strings (8) and arrays (9) have their length in front. */
const SCALAR_BYTES = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8];
const U32 = 4;
const STRING = 8;
const ARRAY = 9;

/** By ggml's number for an element type: elements and bytes of a block. For other types only the start is checked. */
const BLOCKS = new Map<number, readonly [elements: number, bytes: number]>([
  [0, [1, 4]],
  [1, [1, 2]],
  [2, [32, 18]],
  [3, [32, 20]],
  [6, [32, 22]],
  [7, [32, 24]],
  [8, [32, 34]],
  [10, [256, 84]],
  [11, [256, 110]],
  [12, [256, 144]],
  [13, [256, 176]],
  [14, [256, 210]],
  [20, [32, 18]],
  [23, [256, 136]],
  [24, [1, 1]],
  [26, [1, 4]],
  [30, [1, 2]],
  [39, [32, 17]],
]);

/** Checks that the header of a GGUF is complete and its tensors lie within the file. @throws FormatError; NeedMoreBytes */
export function checkGguf(cursor: ByteCursor): void {
  if (cursor.size < 24 || cursor.text(4) !== 'GGUF') throw new FormatError('is not a GGUF');
  const version = cursor.u32();
  if (!VERSIONS.has(version)) throw new FormatError(`is a GGUF of version ${version}, and not of 2 or 3`);
  const tensors = cursor.count('number of tensors');
  const entries = cursor.count('number of metadata entries');
  let alignment = DEFAULT_ALIGNMENT;
  for (let entry = 0; entry < entries; entry++) {
    const key = name(cursor);
    const type = cursor.u32();
    if (key === 'general.alignment' && type === U32) alignment = cursor.u32();
    else skipValue(cursor, key, type);
  }
  if (alignment === 0 || alignment % 8 !== 0)
    throw new FormatError(`gives ${alignment} as its tensors' alignment`);
  const ends: { name: string; end: number }[] = [];
  for (let tensor = 0; tensor < tensors; tensor++) ends.push(readTensor(cursor));
  const start = Math.ceil(cursor.position / alignment) * alignment;
  const beyond = ends.find(({ end }) => !(start + end <= cursor.size));
  if (beyond) {
    throw new FormatError(
      `says that its tensor ${beyond.name} ends at byte ${start + beyond.end}, and has ${cursor.size}`,
    );
  }
}

function name(cursor: ByteCursor): string {
  const length = cursor.count('length of a name');
  if (length > MAX_NAME_BYTES) throw new FormatError(`has a name of ${length} bytes in its header`);
  return cursor.text(length);
}

function skipValue(cursor: ByteCursor, key: string, type: number): void {
  const what = `length of ${key}`;
  if (type === STRING) cursor.skip(cursor.count(what));
  else if (type === ARRAY) {
    const element = cursor.u32();
    const length = cursor.count(what);
    const bytes = SCALAR_BYTES[element] ?? 0;
    if (bytes > 0) cursor.skip(bytes * length);
    // Only a hostile file nests arrays.
    else if (element !== STRING) throw new FormatError(`has elements of unknown type ${element} in ${key}`);
    else for (let i = 0; i < length; i++) cursor.skip(cursor.count(what));
  } else {
    const bytes = SCALAR_BYTES[type];
    if (bytes === undefined) throw new FormatError(`has a value of unknown type ${type} for ${key}`);
    cursor.skip(bytes);
  }
}

/** `end`: from the start of the tensors. */
function readTensor(cursor: ByteCursor): { name: string; end: number } {
  const tensor = name(cursor);
  const dimensions = cursor.u32();
  if (dimensions > MAX_DIMENSIONS)
    throw new FormatError(`gives its tensor ${tensor} ${dimensions} dimensions`);
  let elements = 1;
  for (let i = 0; i < dimensions; i++) elements *= cursor.u64();
  const [blockElements, blockBytes] = BLOCKS.get(cursor.u32()) ?? [1, 0];
  return { name: tensor, end: cursor.u64() + (elements / blockElements) * blockBytes };
}
