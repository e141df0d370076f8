import { gunzipSync } from 'node:zlib';

import type { FunctionNames } from './link-object.ts';
import { SECTION, sectionsOf, WasmReader } from './wasm-module.ts';

/** The names of functions, within a module's section `name`. */
const FUNCTION_NAMES = 1;

/** Names in the module itself (wllama's has them from 3.13 on); null if it has none. */
export function namesIn(module: Uint8Array): FunctionNames | null {
  for (const { content } of sectionsOf(module).filter(({ id }) => id === SECTION.custom)) {
    const reader = new WasmReader(content);
    if (reader.name() !== 'name') continue;
    while (!reader.atEnd) {
      const kind = reader.byte();
      const names = new WasmReader(reader.slice(reader.number()));
      if (kind === FUNCTION_NAMES) return new Map(names.list((each) => [each.number(), each.name()]));
    }
  }
  return null;
}

/** Position of the names: behind the first function's index, the number of functions and that of names. */
const HEADER_BYTES = 12;

/**
 * Reads the table of function names that wllama ships for its error messages, up to 3.8.
 * @param sourceMap the package's `source-map.ts`
 * @param build `default` (64-bit) or `compat` (32-bit)
 */
export function functionNames(sourceMap: string, build: 'default' | 'compat'): FunctionNames {
  const base64 = new RegExp(`"${build}":\\s*"([^"]+)"`).exec(sourceMap)?.[1];
  if (base64 === undefined) throw new Error(`The package has no table of function names for ${build}.`);
  return readTable(gunzipSync(Buffer.from(base64, 'base64')));
}

export function readTable(table: Buffer): FunctionNames {
  const [first, functions, count] = [0, 4, 8].map((at) => table.readUInt32LE(at)) as [number, number, number];
  const names: string[] = [];
  let at = HEADER_BYTES;
  for (let i = 0; i < count; i++) {
    const end = at + 1 + table.readUInt8(at);
    names.push(table.toString('utf8', at + 1, end));
    at = end;
  }
  const nameOf = (i: number): string => names[table.readUInt16LE(at + 2 * i)] ?? '';
  return new Map(Array.from({ length: functions }, (_, i) => [first + i, nameOf(i)]));
}
