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
  const target = openTarget(module, names);
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
function openTarget(module: Uint8Array, names: FunctionNames) {
  const sections = sectionsOf(module);
  const imports = readImports(sectionOf(sections, SECTION.import));
  const importedFunctions = imports.filter(({ kind }) => kind === KIND.function).length;
  const importedGlobals = imports.filter(({ kind }) => kind === KIND.global).length;
  const types = readTypes(sectionOf(sections, SECTION.type));
  const functionTypes = readNumbers(sectionOf(sections, SECTION.function));
  const bodies = readBodies(sectionOf(sections, SECTION.code)).map(({ code }) => code);
  /** Numbers of the globals that are added, by their names. */
  const added = new Map<string, number>();
  const globals = (): WasmReader => new WasmReader(sectionOf(sections, SECTION.global));
  const indexesOf = (name: string): number[] =>
    [...names].flatMap(([index, each]) => (each === name ? [index] : []));

  /** @returns the index of a new function */
  function add(type: number, body: Uint8Array = new Uint8Array()): number {
    functionTypes.push(type);
    return importedFunctions + bodies.push(body) - 1;
  }

  function withAddedGlobals(): Uint8Array {
    const reader = globals();
    const count = leb(reader.number() + added.size);
    return joined([count, reader.rest(), ...Array.from(added, () => NEW_GLOBAL)]);
  }

  return {
    /** @param type signature, by which functions of one name differ */
    indexOf(name: string, type: Uint8Array | undefined): number {
      const named = indexesOf(name);
      const found = named.filter((index) =>
        isSame(types[functionTypes[index - importedFunctions] ?? -1], type),
      );
      if (found[0] !== undefined && found.length === 1) return found[0];
      throw new Error(
        named.length === 1
          ? `The function ${name} has another signature.`
          : `The module has ${named.length} functions called ${name}, not 1.`,
      );
    },
    /** Code of the first function of this name. */
    bodyOf(name: string): Uint8Array {
      return bodies[(indexesOf(name)[0] ?? -1) - importedFunctions] ?? new Uint8Array();
    },
    typeIndex(type: Uint8Array | undefined): number {
      if (!type) throw new Error('The object uses a signature that it does not have.');
      const found = types.findIndex((each) => isSame(each, type));
      return found < 0 ? types.push(type) - 1 : found;
    },
    add,
    copy(index: number, change = (body: Uint8Array): Uint8Array => body): number {
      const own = index - importedFunctions;
      return add(functionTypes[own] ?? -1, change(bodies[own] ?? new Uint8Array()));
    },
    setBody(index: number, code: Uint8Array): void {
      bodies[index - importedFunctions] = code;
    },
    /** @throws Error when the module's first own global cannot be the stack pointer */
    stackPointer(): number {
      const reader = globals();
      reader.number();
      reader.byte();
      if (reader.byte() !== MUTABLE) throw new Error('The first global is not the stack pointer.');
      return importedGlobals;
    },
    /** @returns the index of a global that is added at its first use */
    globalOf(name: string): number {
      const number = added.get(name) ?? added.size;
      added.set(name, number);
      return importedGlobals + globals().number() + number;
    },
    write(): Uint8Array {
      return writeModule(
        module,
        sections.filter(({ id }) => id !== SECTION.custom),
        new Map([
          [SECTION.type, writeList(types)],
          [SECTION.function, writeList(functionTypes.map(leb))],
          [SECTION.global, withAddedGlobals()],
          [SECTION.code, writeList(bodies.map((code) => joined([leb(code.length), code])))],
        ]),
      );
    },
  };
}
