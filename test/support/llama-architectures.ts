import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

import { functionNames, namesIn } from '../../src/node/kernels/function-names.ts';
import {
  joined,
  KIND,
  leb,
  sectionOf,
  sectionsOf,
  WasmReader,
  writeModule,
} from '../../src/node/kernels/wasm-module.ts';

const { resolve } = createRequire(import.meta.url);
const WASM = resolve('@wllama/wllama-compat/wasm/wllama.wasm');
const GLUE = resolve('@wllama/wllama-compat/wasm/wllama.js');
const NAME_TABLE = 'node_modules/@wllama/wllama/src/wasm/source-map.ts';

const EXPORTS = 7;
const TABLE = 'architectures:table';
/** Functions of llama.cpp and of its module that are called: static constructors fill the map of names. */
const [NAME_OF, CONSTRUCTORS] = ['llm_arch_name', '__wasm_call_ctors'];
/** Name of the number behind the last one. */
const UNKNOWN = '(unknown)';
/** Bytes that the longest name may take. */
const MAX_NAME = 64;
/** Pages of 64 KiB, as the package's own script makes its memory. */
const MEMORY = { initial: 2048, maximum: 65_536, shared: true };

type Call = (...args: number[]) => number;

/**
 * Names of all architectures that the package's llama.cpp knows, by its own function. Node 20 cannot run the build with
 * 64-bit addresses, so the other one answers.
 */
export function llamaArchitectures(): string[] {
  const bytes = readFileSync(WASM);
  const names = namesIn(bytes) ?? functionNames(readFileSync(NAME_TABLE, 'utf8'), 'compat');
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
  const own = [NAME_OF, CONSTRUCTORS].map((name) => one(name, KIND.function, indexOf(name)));
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
  const found: string[] = [];
  for (let number = 0; ; number++) {
    const at = functions[NAME_OF]?.(number) ?? 0;
    const text = Buffer.from(memory.buffer, at, MAX_NAME);
    const name = text.toString('latin1', 0, text.indexOf(0));
    if (name === UNKNOWN) return found;
    found.push(name);
  }
}
