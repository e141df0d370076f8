import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import {
  namesIn,
  joined,
  KIND,
  leb,
  sectionOf,
  sectionsOf,
  WasmReader,
  writeModule,
} from '../../src/node/engine-files/linker/wasm-module.ts';

const { resolve } = createRequire(import.meta.url);
const WASM = resolve('@wllama/wllama-compat/wasm/wllama.wasm');
const GLUE = resolve('@wllama/wllama-compat/wasm/wllama.js');

const EXPORTS = 7;
const TABLE = 'llama:table';
/** Name of the function that runs static constructors. */
const CONSTRUCTORS = '__wasm_call_ctors';
/** Pages of 64 KiB, as the package's own script makes its memory. */
const MEMORY = { initial: 2048, maximum: 65_536, shared: true };

type Call = (...args: number[]) => number;

export interface LlamaFunctions {
  memory: WebAssembly.Memory;
  call(name: string, ...args: number[]): number;
}

/**
 * Functions of the package's llama.cpp, by their names in C++. Node 20 cannot run the build with 64-bit addresses, so
 * they are the other one's.
 */
export function llamaFunctions(wanted: readonly string[]): LlamaFunctions {
  const bytes = readFileSync(WASM);
  const names = namesIn(bytes);
  const indexOf = (name: string): number => {
    const found = [...names].find(([, each]) => each === name);
    if (!found) throw new Error(`The package's llama.cpp has no function ${name}.`);
    return found[0];
  };
  const sections = sectionsOf(bytes);
  const exported = new WasmReader(sectionOf(sections, EXPORTS));
  const count = exported.number();
  const one = (name: string, kind: number, index: number): Uint8Array =>
    joined([leb(name.length), Buffer.from(name), Uint8Array.of(kind), leb(index)]);
  const own = [CONSTRUCTORS, ...wanted].map((name) => one(name, KIND.function, indexOf(name)));
  const before = sectionOf(sections, EXPORTS).subarray(exported.at);
  const content = joined([leb(count + own.length + 1), before, ...own, one(TABLE, KIND.table, 0)]);
  const module = new WebAssembly.Module(
    Uint8Array.from(writeModule(bytes, sections, new Map([[EXPORTS, content]]))),
  );

  const memory = new WebAssembly.Memory(MEMORY);
  const glue = readFileSync(GLUE, 'utf8');
  const invokers = new Set([...glue.matchAll(/([\w$]+):invoke_\w+/g)].map(([, name]) => name));
  const imports: Record<string, WebAssembly.ModuleImports> = {};
  for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
    const call: Call = (index = 0, ...args) => (table.get(index) as Call)(...args);
    const stub = invokers.has(name) ? call : () => 0;
    (imports[from] ??= {})[name] = kind === 'memory' ? memory : stub;
  }
  const instance = new WebAssembly.Instance(module, imports);
  const functions = instance.exports as Record<string, Call>;
  const table = instance.exports[TABLE] as WebAssembly.Table;
  functions[CONSTRUCTORS]?.();
  return { memory, call: (name, ...args) => (functions[name] as Call)(...args) };
}
