import { readFileSync } from 'node:fs';

import { linkObject } from '../../../../src/node/kernels/link-object.ts';
import { REPLACED } from '../../../../src/node/kernels/llama-abi.ts';
import { leb, writeList } from '../../../../src/node/kernels/wasm-module.ts';

const HEADER = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
const [I32, I64, F32] = [0x7f, 0x7e, 0x7d];
const PAGES = 1024;
/** As a constant of the module it must be the same as a signed number. */
const STACK_BYTES = 15 * 2 ** 16;

export interface HostFunction {
  name: string;
  parameters: readonly number[];
  results: readonly number[];
}

/** Functions of llama.cpp's module that the kernels replace or call, by their signatures with 32-bit addresses. */
export const LLAMA_FUNCTIONS: readonly HostFunction[] = [
  { name: 'ggml_compute_forward_mul_mat', parameters: [I32, I32], results: [] },
  {
    name: 'ggml_compute_forward_flash_attn_ext_f16_one_chunk',
    parameters: [I32, I32, I32, I32, I64, I64, I32, I64],
    results: [],
  },
  { name: 'server_prompt_cache::update()', parameters: [I32], results: [] },
  {
    name: 'nlohmann::json_abi_v3_12_0::detail::serializer<nlohmann::...>::dump_escaped',
    parameters: [I32, I32, I32],
    results: [],
  },
  { name: 'validate_utf8', parameters: [I32], results: [I32] },
  { name: 'ggml_barrier', parameters: [I32], results: [] },
  { name: 'expf', parameters: [F32], results: [F32] },
  { name: 'quantize_row_q8_K', parameters: [I32, I32, I64], results: [] },
];

const section = (id: number, content: Uint8Array): number[] => [id, ...leb(content.length), ...content];
const text = (value: string): number[] => [value.length, ...new TextEncoder().encode(value)];

/** A module in which each function calls a JavaScript function of its name, and is exported by it. */
export function hostModule(functions: readonly HostFunction[]): Uint8Array {
  const types = functions.map(({ parameters, results }) =>
    Uint8Array.from([0x60, parameters.length, ...parameters, results.length, ...results]),
  );
  const imports = functions.map(({ name }, i) => Uint8Array.from([...text('host'), ...text(name), 0, i]));
  const exported = functions.map(({ name }, i) => Uint8Array.from([...text(name), 0, functions.length + i]));
  const bodies = functions.map(({ parameters }, i) => {
    const code = [0, ...parameters.flatMap((_, local) => [0x20, local]), 0x10, i, 0x0b];
    return Uint8Array.from([...leb(code.length), ...code]);
  });
  return Uint8Array.from([
    ...HEADER,
    ...section(1, writeList(types)),
    ...section(2, writeList(imports)),
    ...section(3, writeList(functions.map((_, i) => leb(i)))),
    ...section(5, writeList([Uint8Array.from([0, ...leb(PAGES)])])),
    ...section(6, writeList([Uint8Array.from([I32, 1, 0x41, ...leb(STACK_BYTES), 0x0b])])),
    ...section(7, writeList([...exported, Uint8Array.from([...text('memory'), 2, 0])])),
    ...section(10, writeList(bodies)),
  ]);
}

/** Indexes of the functions that have code, with their names. */
export const namesOf = (functions: readonly HostFunction[]): Map<number, string> =>
  new Map(functions.map(({ name }, i) => [functions.length + i, name]));

export const OBJECT = readFileSync('tools/kernels/kernels-32.o');

/** The committed kernels in a module that has nothing else. */
export interface Kernels {
  memory: DataView<ArrayBuffer>;
  bytes: Uint8Array<ArrayBuffer>;
  call(name: keyof typeof REPLACED, ...args: (number | bigint)[]): unknown;
  /** How often the kernels left a call to the original. */
  originals(): number;
  allocate(bytes: number): number;
  free(): void;
}

export function loadKernels(host: Readonly<Record<string, (...args: never[]) => unknown>>): Kernels {
  const module = linkObject(hostModule(LLAMA_FUNCTIONS), namesOf(LLAMA_FUNCTIONS), OBJECT, REPLACED);
  let originals = 0;
  const unused = Object.fromEntries(LLAMA_FUNCTIONS.map(({ name }) => [name, () => undefined]));
  const replaced = Object.fromEntries(Object.keys(REPLACED).map((name) => [name, () => void originals++]));
  const instance = new WebAssembly.Instance(new WebAssembly.Module(Uint8Array.from(module)), {
    host: { ...unused, ...replaced, ...host } as Record<string, WebAssembly.ImportValue>,
  });
  const { memory } = instance.exports as { memory: WebAssembly.Memory };
  const buffer = memory.buffer as ArrayBuffer;
  let used = STACK_BYTES;
  return {
    memory: new DataView(buffer),
    bytes: new Uint8Array(buffer),
    call: (name, ...args) => (instance.exports[name] as (...args: unknown[]) => unknown)(...args),
    originals: () => originals,
    allocate(bytes) {
      const at = used;
      used = (used + bytes + 63) & ~63;
      return at;
    },
    free() {
      used = STACK_BYTES;
    },
  };
}

/** llama.cpp's `ggml_tensor`, with 32-bit addresses. */
export function writeTensor(
  { memory, bytes, allocate }: Kernels,
  tensor: { type: number; ne: number[]; nb: number[]; data: number; src?: number[] },
): number {
  const at = allocate(TENSOR_BYTES);
  bytes.fill(0, at, at + TENSOR_BYTES);
  memory.setInt32(at, tensor.type, true);
  for (const [i, length] of tensor.ne.entries()) memory.setBigInt64(at + 8 + 8 * i, BigInt(length), true);
  for (const [i, stride] of tensor.nb.entries()) memory.setUint32(at + 40 + 4 * i, stride, true);
  for (const [i, source] of (tensor.src ?? []).entries()) memory.setUint32(at + 128 + 4 * i, source, true);
  memory.setUint32(at + 176, tensor.data, true);
  return at;
}

const TENSOR_BYTES = 256;
export const OP_PARAMS = 60;

/** Numbers from 0 to 1, the same at each run. */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state >>> 8) / 0x1000000;
  };
}
