/** Reads WebAssembly's binary format. */
export class WasmReader {
  readonly #bytes: Uint8Array;
  at: number;

  constructor(bytes: Uint8Array, at = 0) {
    this.#bytes = bytes;
    this.at = at;
  }

  get atEnd(): boolean {
    return this.at >= this.#bytes.length;
  }

  byte(): number {
    const byte = this.#bytes[this.at++];
    if (byte === undefined) throw new Error('The module ends too early.');
    return byte;
  }

  /** An unsigned number in LEB128. */
  number(): number {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = this.byte();
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  }

  slice(length: number): Uint8Array {
    const end = this.at + length;
    if (end > this.#bytes.length) throw new Error('The module ends too early.');
    const slice = this.#bytes.subarray(this.at, end);
    this.at = end;
    return slice;
  }

  rest(): Uint8Array {
    return this.slice(this.#bytes.length - this.at);
  }

  name(): string {
    return new TextDecoder().decode(this.slice(this.number()));
  }

  /** A vector: its length, then as many elements. */
  list<T>(read: (reader: this) => T): T[] {
    return Array.from({ length: this.number() }, () => read(this));
  }

  /** The bytes that `read` consumes. */
  span(read: (reader: this) => void): Uint8Array {
    const start = this.at;
    read(this);
    return this.#bytes.subarray(start, this.at);
  }
}

/** An unsigned number in LEB128. */
export function leb(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Uint8Array.from([...bytes, rest]);
}

/** An unsigned number in LEB128, padded to the 5 bytes that an object reserves for it. */
export const paddedLeb = (value: number): Uint8Array =>
  Uint8Array.from({ length: 5 }, (_, i) => (Math.floor(value / 128 ** i) % 128) | (i < 4 ? 128 : 0));

export const SECTION = { custom: 0, type: 1, import: 2, function: 3, global: 6, code: 10, data: 11 } as const;

export const KIND = { function: 0, table: 1, memory: 2, global: 3 } as const;

export interface Section {
  id: number;
  content: Uint8Array;
}

const HEADER_BYTES = 8;

export function sectionsOf(module: Uint8Array): Section[] {
  const found: Section[] = [];
  for (const reader = new WasmReader(module, HEADER_BYTES); !reader.atEnd;)
    found.push({ id: reader.byte(), content: reader.slice(reader.number()) });
  return found;
}

/** @throws Error when the module has no such section */
export function sectionOf(sections: readonly Section[], id: number): Uint8Array {
  const section = sections.find((each) => each.id === id);
  if (!section) throw new Error(`The module has no section ${id}.`);
  return section.content;
}

const FUNCTION_TYPE = 0x60;

/** Signatures, as they are written. */
export const readTypes = (content: Uint8Array): Uint8Array[] =>
  new WasmReader(content).list((reader) =>
    reader.span(() => {
      if (reader.byte() !== FUNCTION_TYPE) throw new Error('A type is not a function.');
      reader.slice(reader.number());
      reader.slice(reader.number());
    }),
  );

export interface Body {
  /** Position in the section. */
  start: number;
  code: Uint8Array;
}

export const readBodies = (content: Uint8Array): Body[] =>
  new WasmReader(content).list((reader) => {
    const size = reader.number();
    return { start: reader.at, code: reader.slice(size) };
  });

export const readNumbers = (content: Uint8Array): number[] =>
  new WasmReader(content).list((reader) => reader.number());

export interface Import {
  name: string;
  kind: number;
  /** Index of a function's signature; 0 for others. */
  type: number;
}

export const readImports = (content: Uint8Array): Import[] =>
  new WasmReader(content).list((reader) => {
    reader.name();
    const [name, kind] = [reader.name(), reader.byte()];
    if (kind === KIND.function) return { name, kind, type: reader.number() };
    if (kind === KIND.global) reader.slice(2);
    else {
      if (kind === KIND.table) reader.byte();
      const hasMaximum = reader.byte() & 1;
      reader.number();
      if (hasMaximum) reader.number();
    }
    return { name, kind, type: 0 };
  });

/** @param contents of the sections that change, by id */
export const writeModule = (
  module: Uint8Array,
  sections: readonly Section[],
  contents: ReadonlyMap<number, Uint8Array>,
): Uint8Array =>
  joined([
    module.subarray(0, HEADER_BYTES),
    ...sections.flatMap(({ id, content }) => {
      const written = contents.get(id) ?? content;
      return [Uint8Array.of(id), leb(written.length), written];
    }),
  ]);

export const writeList = (items: readonly Uint8Array[]): Uint8Array => joined([leb(items.length), ...items]);

export const joined = (parts: readonly Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(parts));
