import type { FunctionNames } from './link-object.ts';
import { SECTION, sectionsOf, WasmReader } from './wasm-module.ts';

/** The names of functions, within a module's section `name`. */
const FUNCTION_NAMES = 1;

/** Names of a module's functions. @throws Error if it has none */
export function namesIn(module: Uint8Array): FunctionNames {
  for (const { content } of sectionsOf(module).filter(({ id }) => id === SECTION.custom)) {
    const reader = new WasmReader(content);
    if (reader.name() !== 'name') continue;
    while (!reader.atEnd) {
      const kind = reader.byte();
      const names = new WasmReader(reader.slice(reader.number()));
      if (kind === FUNCTION_NAMES) return new Map(names.list((each) => [each.number(), each.name()]));
    }
  }
  throw new Error('The module names no functions.');
}
