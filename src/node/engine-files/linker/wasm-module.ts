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

/** Reads a custom section after its name; null: there is none of this name. */
function customSection(sections: readonly Section[], name: string): WasmReader | null {
  for (const { id, content } of sections) {
    const reader = new WasmReader(content);
    if (id === SECTION.custom && reader.name() === name) return reader;
  }
  return null;
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

/** Names of a module's functions by index. */
export type FunctionNames = ReadonlyMap<number, string>;

/** The names of functions, within a module's section `name`. */
const FUNCTION_NAMES = 1;

/** Names of a module's functions. @throws Error if it has none */
export function namesIn(module: Uint8Array): FunctionNames {
  const reader = customSection(sectionsOf(module), 'name') ?? new WasmReader(new Uint8Array());
  while (!reader.atEnd) {
    const kind = reader.byte();
    const names = new WasmReader(reader.slice(reader.number()));
    if (kind === FUNCTION_NAMES) return new Map(names.list((each) => [each.number(), each.name()]));
  }
  throw new Error('The module names no functions.');
}

/** A function or global of an object, as relocations refer to it. */
export interface ObjectSymbol {
  /** Index among the object's functions or globals: imports first. */
  index: number;
  name: string;
  isImported: boolean;
}

export interface Relocation {
  kind: 'function' | 'type' | 'global';
  /** Position in the code section. */
  offset: number;
  /** Index of the symbol, or of the signature where the kind is `type`. */
  index: number;
}

/** A relocatable object, as `clang -c` writes it. */
export interface WasmObject {
  functionImports: Import[];
  types: Uint8Array[];
  /** Signatures of the object's own functions. */
  functionTypes: number[];
  bodies: Body[];
  symbols: ObjectSymbol[];
  relocations: Relocation[];
}

const LINKING_VERSION = 2;
const SYMBOL_TABLE = 8;
const UNDEFINED = 0x10;
const EXPLICIT_NAME = 0x40;

/** Padded to 5 bytes: indexes can be replaced without understanding the code around them. */
const RELOCATIONS = new Map<number, Relocation['kind']>([
  [0, 'function'],
  [6, 'type'],
  [7, 'global'],
]);

/** @throws Error for an object with data, tables or other kinds of relocations */
export function readObject(object: Uint8Array): WasmObject {
  const sections = sectionsOf(object);
  if (sections.some(({ id }) => id === SECTION.data)) throw new Error('The object has data.');
  const imports = readImports(sectionOf(sections, SECTION.import));
  const ofKind = (kind: number): Import[] => imports.filter((each) => each.kind === kind);
  const functionImports = ofKind(KIND.function);
  return {
    functionImports,
    types: readTypes(sectionOf(sections, SECTION.type)),
    functionTypes: readNumbers(sectionOf(sections, SECTION.function)),
    bodies: readBodies(sectionOf(sections, SECTION.code)),
    symbols: readSymbols(customSection(sections, 'linking'), functionImports, ofKind(KIND.global)),
    relocations: readRelocations(customSection(sections, 'reloc.CODE')),
  };
}

function readSymbols(reader: WasmReader | null, functions: Import[], globals: Import[]): ObjectSymbol[] {
  if (reader?.number() !== LINKING_VERSION) throw new Error('The object is of another version.');
  while (!reader.atEnd) {
    const subsection = reader.byte();
    const size = reader.number();
    if (subsection !== SYMBOL_TABLE) {
      reader.slice(size);
      continue;
    }
    return reader.list(() => {
      const kind = reader.byte();
      const flags = reader.number();
      // Those of sections, for debugging, have no name.
      if (kind !== 0 && kind !== 2) return { index: reader.number(), name: '', isImported: false };
      const index = reader.number();
      const isImported = (flags & UNDEFINED) !== 0;
      const hasName = !isImported || (flags & EXPLICIT_NAME) !== 0;
      const own = hasName ? reader.name() : '';
      // Imports are called by their import names.
      return { index, name: (kind === 0 ? functions : globals)[index]?.name ?? own, isImported };
    });
  }
  throw new Error('The object has no symbols.');
}

function readRelocations(reader: WasmReader | null): Relocation[] {
  reader?.number();
  return (
    reader?.list(() => {
      const type = reader.byte();
      const kind = RELOCATIONS.get(type);
      if (!kind) throw new Error(`The object has a relocation of type ${type}.`);
      return { kind, offset: reader.number(), index: reader.number() };
    }) ?? []
  );
}
