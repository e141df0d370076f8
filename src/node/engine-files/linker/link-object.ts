import {
  type FunctionNames,
  readObject,
  type Relocation,
  joined,
  KIND,
  leb,
  paddedLeb,
  readBodies,
  readImports,
  readNumbers,
  readTypes,
  SECTION,
  sectionOf,
  sectionsOf,
  WasmReader,
  writeList,
  writeModule,
} from './wasm-module.ts';

/** The module's stack pointer: its first global that is not imported. */
const STACK_POINTER = '__stack_pointer';
const MUTABLE = 1;
/** A 32-bit integer that is 0 at first. */
const NEW_GLOBAL = Uint8Array.of(0x7f, MUTABLE, 0x41, 0, 0x0b);

/**
 * Links an object into a finished module. A function that is replaced keeps its index, so that calls and tables stay
 * right; its old body becomes a further function, which the object calls by `original_` and the new one's name. Globals of
 * the object are 32-bit integers, and are added. Custom sections, such as the names of functions, are left out.
 * @param entries the object's functions by the name of the function that each replaces
 * @param parts make a smaller body of a function that is replaced, which the object calls by `common_` and the new one's name
 * @param check looks at the module's code before it changes, and throws when it is not as expected
 * @throws Error naming the function that is missing, not unique or of another signature
 */
export function linkObject(
  module: Uint8Array,
  names: FunctionNames,
  object: Uint8Array,
  entries: Readonly<Record<string, string>>,
  parts: Readonly<Record<string, (body: Uint8Array) => Uint8Array>> = {},
  check: (bodyOf: (name: string) => Uint8Array) => void = () => undefined,
): Uint8Array {
  const target = new Target(module, names);
  check((name) => target.bodyOf(name));
  const kernels = readObject(object);
  const firstOwn = kernels.functionImports.length;
  const originals = new Map<string, number>();
  /** Indexes of the object's functions in the module. */
  const places = new Map<number, number>();
  for (const [replaced, name] of Object.entries(entries)) {
    const symbol = kernels.symbols.find((each) => !each.isImported && each.name === name);
    if (!symbol) throw new Error(`The object has no function ${name}.`);
    const type = kernels.types[kernels.functionTypes[symbol.index - firstOwn] ?? -1];
    const place = target.indexOf(replaced, type);
    places.set(symbol.index, place);
    originals.set(`original_${name}`, target.copy(place));
    if (parts[replaced]) originals.set(`common_${name}`, target.copy(place, parts[replaced]));
  }
  for (const [i, type] of kernels.functionTypes.entries())
    if (!places.has(firstOwn + i))
      places.set(firstOwn + i, target.add(target.typeIndex(kernels.types[type])));

  const valueOf = ({ kind, index }: Relocation): number => {
    if (kind === 'type') return target.typeIndex(kernels.types[index]);
    const symbol = kernels.symbols[index];
    if (!symbol) throw new Error('The object refers to a symbol that it does not have.');
    if (kind === 'global')
      return symbol.name === STACK_POINTER ? target.stackPointer() : target.globalOf(symbol.name);
    if (!symbol.isImported) return places.get(symbol.index) ?? -1;
    const type = kernels.types[kernels.functionImports[symbol.index]?.type ?? -1];
    return originals.get(symbol.name) ?? target.indexOf(symbol.name, type);
  };
  for (const [i, { start, code }] of kernels.bodies.entries()) {
    const linked = code.slice();
    for (const relocation of kernels.relocations) {
      const at = relocation.offset - start;
      if (at >= 0 && at < code.length) linked.set(paddedLeb(valueOf(relocation)), at);
    }
    target.setBody(places.get(firstOwn + i) ?? -1, linked);
  }
  return target.write();
}

const isSame = (a: Uint8Array | undefined, b: Uint8Array | undefined): boolean =>
  a !== undefined && b !== undefined && Buffer.compare(a, b) === 0;

/** The module that an object is linked into. Indexes of functions count its imports first. */
class Target {
  readonly #module: Uint8Array;
  readonly #names: FunctionNames;
  readonly #sections;
  readonly #imports: number;
  readonly #importedGlobals: number;
  readonly #types: Uint8Array[];
  readonly #functionTypes: number[];
  readonly #bodies: Uint8Array[];
  /** Numbers of the globals that are added, by their names. */
  readonly #added = new Map<string, number>();

  constructor(module: Uint8Array, names: FunctionNames) {
    this.#module = module;
    this.#names = names;
    this.#sections = sectionsOf(module);
    const imports = readImports(sectionOf(this.#sections, SECTION.import));
    this.#imports = imports.filter(({ kind }) => kind === KIND.function).length;
    this.#importedGlobals = imports.filter(({ kind }) => kind === KIND.global).length;
    this.#types = readTypes(sectionOf(this.#sections, SECTION.type));
    this.#functionTypes = readNumbers(sectionOf(this.#sections, SECTION.function));
    this.#bodies = readBodies(sectionOf(this.#sections, SECTION.code)).map(({ code }) => code);
  }

  /** @param type signature, by which functions of one name differ */
  indexOf(name: string, type: Uint8Array | undefined): number {
    const named = this.#indexesOf(name);
    const found = named.filter((index) =>
      isSame(this.#types[this.#functionTypes[index - this.#imports] ?? -1], type),
    );
    if (found[0] !== undefined && found.length === 1) return found[0];
    throw new Error(
      named.length === 1
        ? `The function ${name} has another signature.`
        : `The module has ${named.length} functions called ${name}, not 1.`,
    );
  }

  /** Code of the first function of this name. */
  bodyOf(name: string): Uint8Array {
    return this.#bodies[(this.#indexesOf(name)[0] ?? -1) - this.#imports] ?? new Uint8Array();
  }

  #indexesOf(name: string): number[] {
    return [...this.#names].flatMap(([index, each]) => (each === name ? [index] : []));
  }

  typeIndex(type: Uint8Array | undefined): number {
    if (!type) throw new Error('The object uses a signature that it does not have.');
    const found = this.#types.findIndex((each) => isSame(each, type));
    return found < 0 ? this.#types.push(type) - 1 : found;
  }

  /** @returns the index of a new function */
  add(type: number, body: Uint8Array = new Uint8Array()): number {
    this.#functionTypes.push(type);
    return this.#imports + this.#bodies.push(body) - 1;
  }

  copy(index: number, change = (body: Uint8Array): Uint8Array => body): number {
    const own = index - this.#imports;
    return this.add(this.#functionTypes[own] ?? -1, change(this.#bodies[own] ?? new Uint8Array()));
  }

  setBody(index: number, code: Uint8Array): void {
    this.#bodies[index - this.#imports] = code;
  }

  /** @throws Error when the module's first own global cannot be the stack pointer */
  stackPointer(): number {
    const reader = this.#globals();
    reader.number();
    reader.byte();
    if (reader.byte() !== MUTABLE) throw new Error('The first global is not the stack pointer.');
    return this.#importedGlobals;
  }

  /** @returns the index of a global that is added at its first use */
  globalOf(name: string): number {
    const number = this.#added.get(name) ?? this.#added.size;
    this.#added.set(name, number);
    return this.#importedGlobals + this.#globals().number() + number;
  }

  #globals(): WasmReader {
    return new WasmReader(sectionOf(this.#sections, SECTION.global));
  }

  #withAddedGlobals(): Uint8Array {
    const reader = this.#globals();
    const count = leb(reader.number() + this.#added.size);
    const added = Array.from({ length: this.#added.size }, () => NEW_GLOBAL);
    return joined([count, reader.rest(), ...added]);
  }

  write(): Uint8Array {
    return writeModule(
      this.#module,
      this.#sections.filter(({ id }) => id !== SECTION.custom),
      new Map([
        [SECTION.type, writeList(this.#types)],
        [SECTION.function, writeList(this.#functionTypes.map(leb))],
        [SECTION.global, this.#withAddedGlobals()],
        [SECTION.code, writeList(this.#bodies.map((code) => joined([leb(code.length), code])))],
      ]),
    );
  }
}
