import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';

import { linkObject } from '../../../../src/node/engine-files/linker/link-object.ts';
import { REPLACED } from '../../../../src/node/engine-files/linker/llama-abi.ts';
import { leb, writeList } from '../../../../src/node/engine-files/linker/wasm-module.ts';

const HEADER = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
const [I32, I64] = [0x7f, 0x7e];
const PAGES = 1024;
/** The smaller function for graphs does nothing. */
export const PARTS = { ggml_graph_compute_thread: () => Uint8Array.of(0, 0x0b) };
/** Flag of a memory. */
const MEMORY64 = 4;
/** Size of the stack; its unsigned and signed LEB128 forms are the same. */
const STACK_BYTES = 15 * 2 ** 16;

export interface HostFunction {
  name: string;
  parameters: readonly number[];
  results: readonly number[];
}

/** Width of addresses, in bits. The 64-bit kernels use relaxed SIMD. */
export type Width = 32 | 64;

/** Sets a vector of tokens. */
export const ASSIGN = 'void std::vector<int, std::...>::__assign_with_size<int*, int*>';

/** Functions of llama.cpp's module that the kernels replace or call, by their signatures. @param p type of an address */
const functionsBy = (p: number): HostFunction[] => [
  ...Object.entries({
    ggml_compute_forward_mul_mat: [p, p],
    ggml_compute_forward_flash_attn_ext_f16_one_chunk: [p, p, I32, I32, I64, I64, p, I64],
    ggml_graph_compute_thread: [p],
    quantize_row_q8_0_ref: [p, p, I64],
    ggml_backend_cpu_buffer_clear: [p, I32],
    'server_prompt_cache::update()': [p],
    'server_context::start_loop()': p === I64 ? [] : [p],
    'nlohmann::json_abi_v3_12_0::detail::serializer<nlohmann::...>::dump_escaped': [p, p, I32],
    'common_speculative_impl_ngram_simple::draft': [p, p],
    [ASSIGN]: [p, p, p, p],
    common_sampler_accept: [p, I32, I32],
    llama_grammar_advance_stack: [p, p, p],
    llama_sampler_grammar_apply: [p, p],
    llama_grammar_accept_token: [p, I32, p],
    'operator delete': [p],
    ggml_barrier: [p],
    quantize_row_q8_K: [p, p, I64],
  }).map(([name, parameters]) => ({ name, parameters, results: [] })),
  { name: 'wllama_action', parameters: [p, p], results: [p] },
  { name: 'llama_vocab::tokenize', parameters: [p, p, I32, p, I32, I32, I32], results: [I32] },
  { name: 'common_params_speculative::operator=', parameters: [p, p], results: p === I64 ? [] : [p] },
  { name: 'validate_utf8', parameters: [p], results: [p] },
  { name: 'llama_vocab::is_eog', parameters: [p, I32], results: [I32] },
  { name: 'llama_vocab::impl::token_to_piece', parameters: [p, I32, p, I32, I32, I32], results: [I32] },
  { name: 'llama_grammar_init_impl', parameters: [p, p, p, I32, p, p, p, p], results: [p] },
];

/** Functions with 32-bit addresses. */
export const LLAMA_FUNCTIONS: readonly HostFunction[] = functionsBy(I32);

// Node 20 and 22 have them behind flags, which later ones do not know.
if (Number.parseInt(process.versions.node, 10) < 24)
  for (const feature of ['memory64', 'relaxed-simd']) setFlagsFromString(`--experimental-wasm-${feature}`);

const section = (id: number, content: Uint8Array): number[] => [id, ...leb(content.length), ...content];
const text = (value: string): number[] => [value.length, ...new TextEncoder().encode(value)];

/** A module in which each function calls a JavaScript function of its name, and is exported by it. */
export function hostModule(functions: readonly HostFunction[], width: Width = 32): Uint8Array {
  const types = functions.map(({ parameters, results }) =>
    Uint8Array.from([0x60, parameters.length, ...parameters, results.length, ...results]),
  );
  const imports = functions.map(({ name }, i) => Uint8Array.from([...text('host'), ...text(name), 0, i]));
  const exported = functions.map(({ name }, i) => Uint8Array.from([...text(name), 0, functions.length + i]));
  const bodies = functions.map(({ parameters }, i) => {
    const code = [0, ...parameters.flatMap((_, local) => [0x20, local]), 0x10, i, 0x0b];
    return Uint8Array.from([...leb(code.length), ...code]);
  });
  const stackPointer = width === 64 ? [I64, 1, 0x42] : [I32, 1, 0x41];
  return Uint8Array.from([
    ...HEADER,
    ...section(1, writeList(types)),
    ...section(2, writeList(imports)),
    ...section(3, writeList(functions.map((_, i) => leb(i)))),
    ...section(5, writeList([Uint8Array.from([width === 64 ? MEMORY64 : 0, ...leb(PAGES)])])),
    ...section(6, writeList([Uint8Array.from([...stackPointer, ...leb(STACK_BYTES), 0x0b])])),
    ...section(7, writeList([...exported, Uint8Array.from([...text('memory'), 2, 0])])),
    ...section(10, writeList(bodies)),
  ]);
}

/** Indexes of the functions that have code, with their names. */
export const namesOf = (functions: readonly HostFunction[]): Map<number, string> =>
  new Map(functions.map(({ name }, i) => [functions.length + i, name]));

const objectOf = (width: Width): Buffer => readFileSync(`tools/kernels/kernels-${width}.o`);

export const OBJECT = objectOf(32);

/** The committed kernels in a module that has nothing else. */
export interface Kernels {
  width: Width;
  memory: DataView<ArrayBuffer>;
  bytes: Uint8Array<ArrayBuffer>;
  call(name: keyof typeof REPLACED, ...args: number[]): unknown;
  writeAddress(at: number, address: number): void;
  /** How often the kernels left a call to the original. */
  originals(): number;
  allocate(bytes: number): number;
  free(): void;
}

export function loadKernels(
  host: Readonly<Record<string, (...args: number[]) => unknown>>,
  width: Width = 32,
): Kernels {
  const functions = functionsBy(width === 64 ? I64 : I32);
  const target = hostModule(functions, width);
  const module = linkObject(target, namesOf(functions), objectOf(width), REPLACED, PARTS);
  let originals = 0;
  const unused = Object.fromEntries(functions.map(({ name }) => [name, () => undefined]));
  const replaced = Object.fromEntries(Object.keys(REPLACED).map((name) => [name, () => void originals++]));
  const withNumbers = Object.fromEntries(
    Object.entries(host).map(([name, run]) => [
      name,
      (...args: (number | bigint)[]) => run(...args.map(Number)) as number,
    ]),
  );
  const instance = new WebAssembly.Instance(new WebAssembly.Module(Uint8Array.from(module)), {
    host: { ...unused, ...replaced, ...withNumbers },
  });
  const { memory } = instance.exports as { memory: WebAssembly.Memory };
  const buffer = memory.buffer as ArrayBuffer;
  let used = STACK_BYTES;
  const view = new DataView(buffer);
  return {
    width,
    memory: view,
    bytes: new Uint8Array(buffer),
    call(name, ...args) {
      const { parameters = [] } = functions.find((each) => each.name === name) ?? {};
      const typed = args.map((value, i) => (parameters[i] === I64 ? BigInt(value) : value));
      return (instance.exports[name] as (...typed: unknown[]) => unknown)(...typed);
    },
    writeAddress(at, address) {
      if (width === 64) view.setBigUint64(at, BigInt(address), true);
      else view.setUint32(at, address, true);
    },
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

/** Positions in llama.cpp's structs, by the width of addresses. */
export const LAYOUT = {
  32: { ne: 8, nb: 40, opParams: 60, src: 128, data: 176, wdata: 12, pool: 16 },
  64: { ne: 16, nb: 48, opParams: 84, src: 152, data: 248, wdata: 16, pool: 24 },
} as const;

/** llama.cpp's `ggml_tensor`. */
export function writeTensor(
  { width, memory, bytes, allocate, writeAddress }: Kernels,
  tensor: { type: number; ne: number[]; nb: number[]; data: number; src?: number[] },
): number {
  const at = allocate(TENSOR_BYTES);
  bytes.fill(0, at, at + TENSOR_BYTES);
  memory.setInt32(at, tensor.type, true);
  const { ne, nb, src, data } = LAYOUT[width];
  const addressBytes = width / 8;
  for (const [i, length] of tensor.ne.entries()) memory.setBigInt64(at + ne + 8 * i, BigInt(length), true);
  for (const [i, stride] of tensor.nb.entries()) writeAddress(at + nb + addressBytes * i, stride);
  for (const [i, source] of (tensor.src ?? []).entries()) writeAddress(at + src + addressBytes * i, source);
  writeAddress(at + data, tensor.data);
  return at;
}

const TENSOR_BYTES = 320;

/** Numbers from 0 to 1, the same at each run. */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state >>> 8) / 0x1000000;
  };
}
