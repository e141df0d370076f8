/** Format: GGUF version 3, as its specification in the ggml project has it. Little-endian throughout. */
const MAGIC = 0x46554747;

/** Bytes of a metadata value by its type; strings (8) and arrays (9) have their length in front. */
const SCALAR_BYTES = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8];
const STRING = 8;
const ARRAY = 9;

export interface GgufTensor {
  name: string;
  /** Row length first. */
  shape: number[];
  /** ggml's number for the element type. */
  type: number;
  /** From the start of the tensor data. */
  offset: number;
}

export interface Gguf {
  /** Magic, version, counts and metadata, as they stand in the file. */
  preamble: Uint8Array;
  /** Where in `preamble` the value of a metadata key starts. */
  metadata: Map<string, number>;
  tensors: GgufTensor[];
  alignment: number;
  /** From the start of the file. */
  dataOffset: number;
}

/** Reads all but the tensors' data. @throws RangeError when the file is cut short or is no GGUF. */
export function readGguf(file: Uint8Array): Gguf {
  const reader = new Reader(file);
  if (reader.u32() !== MAGIC) throw new RangeError('not a GGUF file');
  const version = reader.u32();
  if (version !== 3) throw new RangeError(`GGUF version ${version} is not supported, only 3`);
  const tensorCount = reader.u64();
  const metadataCount = reader.u64();
  const metadata = new Map<string, number>();
  for (let i = 0; i < metadataCount; i++) {
    const key = reader.string();
    const type = reader.u32();
    metadata.set(key, reader.position);
    reader.skipValue(type);
  }
  const preamble = file.subarray(0, reader.position);
  const tensors = Array.from({ length: tensorCount }, () => reader.tensor());
  const alignmentAt = metadata.get('general.alignment');
  const alignment = alignmentAt === undefined ? 32 : new Reader(file, alignmentAt).u32();
  return { preamble, metadata, tensors, alignment, dataOffset: align(reader.position, alignment) };
}

export const align = (position: number, alignment: number): number =>
  Math.ceil(position / alignment) * alignment;

class Reader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  position: number;

  constructor(bytes: Uint8Array, position = 0) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.position = position;
  }

  u32(): number {
    this.position += 4;
    return this.#view.getUint32(this.position - 4, true);
  }

  u64(): number {
    this.position += 8;
    return Number(this.#view.getBigUint64(this.position - 8, true));
  }

  string(): string {
    const length = this.u64();
    this.position += length;
    return Buffer.from(this.#bytes.subarray(this.position - length, this.position)).toString('utf8');
  }

  skipValue(type: number): void {
    if (type === STRING) this.string();
    else if (type === ARRAY) {
      const elementType = this.u32();
      const length = this.u64();
      for (let i = 0; i < length; i++) this.skipValue(elementType);
    } else {
      const bytes = SCALAR_BYTES[type];
      if (bytes === undefined) throw new RangeError(`metadata value of unknown type ${type}`);
      this.position += bytes;
    }
  }

  tensor(): GgufTensor {
    const name = this.string();
    const shape = Array.from({ length: this.u32() }, () => this.u64());
    return { name, shape, type: this.u32(), offset: this.u64() };
  }
}
