// Puts functions into a WASM module in place of others. Their code must neither call nor use globals: it is moved as it is.

/** An unsigned number in LEB128. @returns it, and where the next begins */
function readNumber(bytes: Uint8Array, start: number): [value: number, next: number] {
  let value = 0;
  for (let at = start, factor = 1; ; at++, factor *= 128) {
    const byte = bytes[at];
    if (byte === undefined) throw new Error('The module ends too early');
    value += (byte & 127) * factor;
    if (byte < 128) return [value, at + 1];
  }
}

function writeNumber(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Uint8Array.from([...bytes, rest]);
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Of the functions that have code: names by index. */
export type Names = ReadonlyMap<number, string>;

/** @param table of names, as wllama ships it beside its WASM, unpacked */
export function functionNames(table: Uint8Array): Names {
  const view = new DataView(table.buffer, table.byteOffset, table.byteLength);
  const [first, functions, count] = [0, 4, 8].map((at) => view.getUint32(at, true)) as [
    number,
    number,
    number,
  ];
  const names: string[] = [];
  let at = 12;
  for (let i = 0; i < count; i++) {
    const end = at + 1 + view.getUint8(at);
    names.push(new TextDecoder().decode(table.subarray(at + 1, end)));
    at = end;
  }
  const nameOf = (i: number): string => names[view.getUint16(at + 2 * i, true)] ?? '';
  return new Map(Array.from({ length: functions }, (_, i) => [first + i, nameOf(i)]));
}

const CODE_SECTION = 10;

interface CodeSection {
  /** The section's begin and end in the module. */
  begin: number;
  end: number;
  /** A function each, its length first. */
  bodies: Uint8Array[];
}

function codeSection(module: Uint8Array): CodeSection {
  for (let begin = 8; begin < module.length;) {
    const [size, start] = readNumber(module, begin + 1);
    const end = start + size;
    if (module[begin] === CODE_SECTION) {
      const [count, first] = readNumber(module, start);
      const bodies: Uint8Array[] = [];
      for (let at = first; bodies.length < count;) {
        const [length, code] = readNumber(module, at);
        bodies.push(module.subarray(at, code + length));
        at = code + length;
      }
      return { begin, end, bodies };
    }
    begin = end;
  }
  throw new Error('The module has no code');
}

/** @returns where the one function of this name is among those that have code */
function positionOf(names: Names, name: string): number {
  const found = [...names].filter(([, each]) => each === name).map(([index]) => index);
  const [index] = found;
  if (index === undefined || found.length > 1)
    throw new Error(`${found.length} functions are called ${name}, not 1`);
  return index - Math.min(...names.keys());
}

/**
 * @param names of the module's functions
 * @param replaced names, in the order in which `kernels` has what takes their place
 */
export function replaceKernels(
  module: Uint8Array,
  names: Names,
  replaced: readonly string[],
  kernels: Uint8Array,
): Uint8Array {
  const { begin, end, bodies } = codeSection(module);
  const codes = codeSection(kernels).bodies;
  if (codes.length !== replaced.length)
    throw new Error(`${codes.length} functions are to take the place of ${replaced.length}`);
  for (const [index, code] of codes.entries()) bodies[positionOf(names, replaced[index] ?? '')] = code;
  const content = join([writeNumber(bodies.length), ...bodies]);
  const section = [Uint8Array.of(CODE_SECTION), writeNumber(content.length), content];
  return join([module.subarray(0, begin), ...section, module.subarray(end)]);
}

/** `f32.load` of 4 aligned bytes; its offset follows. */
const F32_LOAD = [0x2a, 2];

/** Where llama.cpp's table of all half floats lies: the one offset of a kernel's loads of floats. */
export function halfTable(module: Uint8Array, names: Names, kernel: string): number {
  const code = codeSection(module).bodies[positionOf(names, kernel)] ?? new Uint8Array();
  const found = new Set<number>();
  for (let at = 0; at + 2 < code.length; at++) {
    if (code[at] !== F32_LOAD[0] || code[at + 1] !== F32_LOAD[1]) continue;
    const [offset] = readNumber(code, at + 2);
    if (offset > 0) found.add(offset);
  }
  const [table] = found;
  if (table === undefined || found.size > 1) throw new Error(`${kernel} reads no table, or more than one`);
  return table;
}
