import { readObject, type Relocation } from './wasm-object.ts';
import {
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

/** Names of a module's functions by index. */
export type FunctionNames = ReadonlyMap<number, string>;

/** The module's stack pointer: its first global that is not imported. */
const STACK_POINTER = '__stack_pointer';
const MUTABLE = 1;

/**
 * Links an object into a finished module. A function that is replaced keeps its index, so that calls and tables stay
 * right; its old body becomes a further function, which the object calls by `original_` and the new one's name.
 * @param entries the object's functions by the name of the function that each replaces
 * @param check looks at the module's code before it changes, and throws when it is not as expected
 * @throws Error naming the function that is missing, not unique or of another signature
 */
export function linkObject(
  module: Uint8Array,
  names: FunctionNames,
  object: Uint8Array,
  entries: Readonly<Record<string, string>>,
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
    const place = target.indexOf(replaced);
    const type = kernels.types[kernels.functionTypes[symbol.index - firstOwn] ?? -1];
    target.expectType(place, type, replaced);
    places.set(symbol.index, place);
    originals.set(`original_${name}`, target.copy(place));
  }
  for (const [i, type] of kernels.functionTypes.entries())
    if (!places.has(firstOwn + i))
      places.set(firstOwn + i, target.add(target.typeIndex(kernels.types[type])));

  const valueOf = ({ kind, index }: Relocation): number => {
    if (kind === 'type') return target.typeIndex(kernels.types[index]);
    const symbol = kernels.symbols[index];
    if (!symbol) throw new Error('The object refers to a symbol that it does not have.');
    if (kind === 'global') {
      if (symbol.name !== STACK_POINTER) throw new Error(`The object uses the global ${symbol.name}.`);
      return target.stackPointer();
    }
    if (!symbol.isImported) return places.get(symbol.index) ?? -1;
    const found = originals.get(symbol.name) ?? target.indexOf(symbol.name);
    target.expectType(found, kernels.types[kernels.functionImports[symbol.index]?.type ?? -1], symbol.name);
    return found;
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

  indexOf(name: string): number {
    const found = [...this.#names].filter(([, each]) => each === name);
    const [first] = found;
    if (!first || found.length > 1)
      throw new Error(`The module has ${found.length} functions called ${name}, not 1.`);
    return first[0];
  }

  bodyOf(name: string): Uint8Array {
    return this.#bodies[this.indexOf(name) - this.#imports] ?? new Uint8Array();
  }

  expectType(index: number, type: Uint8Array | undefined, name: string): void {
    const own = this.#types[this.#functionTypes[index - this.#imports] ?? -1];
    if (!isSame(own, type)) throw new Error(`The function ${name} has another signature.`);
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

  copy(index: number): number {
    const own = index - this.#imports;
    return this.add(this.#functionTypes[own] ?? -1, this.#bodies[own]);
  }

  setBody(index: number, code: Uint8Array): void {
    this.#bodies[index - this.#imports] = code;
  }

  /** @throws Error when the module's first own global cannot be the stack pointer */
  stackPointer(): number {
    const reader = new WasmReader(sectionOf(this.#sections, SECTION.global));
    reader.number();
    reader.byte();
    if (reader.byte() !== MUTABLE) throw new Error('The first global is not the stack pointer.');
    return this.#importedGlobals;
  }

  write(): Uint8Array {
    return writeModule(
      this.#module,
      this.#sections,
      new Map([
        [SECTION.type, writeList(this.#types)],
        [SECTION.function, writeList(this.#functionTypes.map(leb))],
        [SECTION.code, writeList(this.#bodies.map((code) => joined([leb(code.length), code])))],
      ]),
    );
  }
}
