import {
  type Body,
  type Import,
  KIND,
  readBodies,
  readImports,
  readNumbers,
  readTypes,
  SECTION,
  sectionOf,
  sectionsOf,
  WasmReader,
} from './wasm-module.ts';

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
  const custom = (name: string): WasmReader | null => {
    for (const { content } of sections.filter(({ id }) => id === SECTION.custom)) {
      const reader = new WasmReader(content);
      if (reader.name() === name) return reader;
    }
    return null;
  };
  return {
    functionImports,
    types: readTypes(sectionOf(sections, SECTION.type)),
    functionTypes: readNumbers(sectionOf(sections, SECTION.function)),
    bodies: readBodies(sectionOf(sections, SECTION.code)),
    symbols: readSymbols(custom('linking'), functionImports, ofKind(KIND.global)),
    relocations: readRelocations(custom('reloc.CODE')),
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
