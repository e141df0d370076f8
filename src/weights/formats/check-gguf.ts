import { Fault, Head } from './byte-cursor.ts';

/** Format: GGUF, as its specification in the ggml project has it. Little-endian; of version 1 nothing is left to read. */
const VERSIONS = new Set([2, 3]);
const LONGEST_NAME = 65_535;
const MOST_DIMENSIONS = 4;
const DEFAULT_ALIGNMENT = 32;

/** Bytes of a metadata value by its type; strings (8) and arrays (9) have their length in front. */
const SCALAR_BYTES = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8];
const U32 = 4;
const STRING = 8;
const ARRAY = 9;

/** By ggml's number for an element type: elements of a block, and its bytes. Of a type not listed, only the start is checked. */
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

/** Whether the head of a GGUF is whole, and its tensors lie within the file. @throws Fault; EndOfHead to be given more */
export function checkGguf(head: Head): void {
  if (head.size < 24 || head.text(4) !== 'GGUF') throw new Fault('is not a GGUF');
  const version = head.u32();
  if (!VERSIONS.has(version)) throw new Fault(`is a GGUF of version ${version}, and not of 2 or 3`);
  const tensors = head.count('number of tensors');
  const entries = head.count('number of metadata entries');
  let alignment = DEFAULT_ALIGNMENT;
  for (let entry = 0; entry < entries; entry++) {
    const key = name(head);
    const type = head.u32();
    if (key === 'general.alignment' && type === U32) alignment = head.u32();
    else skipValue(head, key, type);
  }
  if (alignment === 0 || alignment % 8 !== 0) throw new Fault(`gives ${alignment} as its tensors' alignment`);
  const ends: { name: string; end: number }[] = [];
  for (let tensor = 0; tensor < tensors; tensor++) ends.push(readTensor(head));
  const start = Math.ceil(head.position / alignment) * alignment;
  const beyond = ends.find(({ end }) => !(start + end <= head.size));
  if (beyond) {
    throw new Fault(
      `says that its tensor ${beyond.name} ends at byte ${start + beyond.end}, and has ${head.size}`,
    );
  }
}

function name(head: Head): string {
  const length = head.count('length of a name');
  if (length > LONGEST_NAME) throw new Fault(`has a name of ${length} bytes in its head`);
  return head.text(length);
}

function skipValue(head: Head, key: string, type: number): void {
  const what = `length of ${key}`;
  if (type === STRING) head.skip(head.count(what));
  else if (type === ARRAY) {
    const element = head.u32();
    const length = head.count(what);
    const bytes = SCALAR_BYTES[element] ?? 0;
    if (bytes > 0) head.skip(bytes * length);
    // A list of lists would only be found in a file that was made to hurt.
    else if (element !== STRING) throw new Fault(`has elements of unknown type ${element} in ${key}`);
    else for (let i = 0; i < length; i++) head.skip(head.count(what));
  } else {
    const bytes = SCALAR_BYTES[type];
    if (bytes === undefined) throw new Fault(`has a value of unknown type ${type} for ${key}`);
    head.skip(bytes);
  }
}

/** `end`: from the start of the tensors. */
function readTensor(head: Head): { name: string; end: number } {
  const tensor = name(head);
  const dimensions = head.u32();
  if (dimensions > MOST_DIMENSIONS) throw new Fault(`gives its tensor ${tensor} ${dimensions} dimensions`);
  let elements = 1;
  for (let i = 0; i < dimensions; i++) elements *= head.u64();
  const [blockElements, blockBytes] = BLOCKS.get(head.u32()) ?? [1, 0];
  return { name: tensor, end: head.u64() + (elements / blockElements) * blockBytes };
}
