import { leb } from './wasm-module.ts';

const I32_LOAD = [0x28, 2];
const I64_LOAD = [0x29, 3];
/** Reads a pointer: by I64_LOAD or I32_LOAD. */
const POINTER = null;
const F32_LOAD = [0x2a, 2];
const BYTE_LOAD = [0x2d, 0];
const ATOMIC_STORE = [0xfe, 0x17, 2];
const ATOMIC_ADD = [0xfe, 0x1e, 2];

/** Reads a signed byte: where a `std::string` says whether it is long. */
const SIGNED_BYTE_LOAD = [0x2c, 0];

const MUL_MAT = 'ggml_compute_forward_mul_mat';
const FLASH = 'ggml_compute_forward_flash_attn_ext_f16_one_chunk';
const GRAPH = 'ggml_graph_compute_thread';
const CLEAR = 'ggml_backend_cpu_buffer_clear';
const LIMIT_STATES = 'server_prompt_cache::update()';
const DRAFT = 'common_speculative_impl_ngram_simple::draft';
const WHOLE_TEXT = 'validate_utf8';

/** A part of a llama.cpp struct that the kernels read, the instruction by which llama.cpp reads it, and its offset with 64-bit and 32-bit addresses. */
type Field = [name: string, instruction: readonly number[] | null, wide: number, narrow: number];

/** What the kernels assume of llama.cpp's structs (tools/kernels/ggml.h), by the function that shows it. */
const FIELDS: Readonly<Record<string, readonly Field[]>> = {
  [MUL_MAT]: [
    ['tensor.ne[0]', I64_LOAD, 16, 8],
    ['tensor.ne[1]', I64_LOAD, 24, 16],
    ['tensor.nb[0]', POINTER, 48, 40],
    ['tensor.nb[1]', POINTER, 56, 44],
    ['tensor.src[0]', POINTER, 152, 128],
    ['tensor.src[1]', POINTER, 160, 132],
    ['tensor.data', POINTER, 248, 176],
    ['params.nth', I32_LOAD, 4, 4],
    ['params.use_ref', BYTE_LOAD, 32, 20],
    ['threadpool.current_chunk', ATOMIC_STORE, 256, 256],
    ['threadpool.current_chunk', ATOMIC_ADD, 256, 256],
  ],
  [FLASH]: [
    ['tensor.op_params[0]', F32_LOAD, 84, 60],
    ['tensor.src[1]', POINTER, 160, 132],
    ['tensor.src[2]', POINTER, 168, 136],
    ['tensor.src[3]', POINTER, 176, 140],
    ['tensor.src[4]', POINTER, 184, 144],
    ['tensor.src[5]', POINTER, 192, 148],
  ],
  [GRAPH]: [
    ['state.threadpool', POINTER, 528, 524],
    ['threadpool.cgraph', POINTER, 88, 72],
    ['cgraph.n_nodes', I32_LOAD, 4, 4],
    ['cgraph.nodes', POINTER, 16, 12],
    ['tensor.op', I32_LOAD, 80, 56],
  ],
  [CLEAR]: [
    ['ggml_backend_buffer.context', POINTER, 120, 60],
    ['ggml_backend_buffer.size', POINTER, 128, 64],
  ],
  [LIMIT_STATES]: [
    ['server_prompt_cache.limit_size', POINTER, 24, 12],
    ['server_prompt_cache.limit_tokens', POINTER, 32, 16],
  ],
  [DRAFT]: [
    ['draft_params.drafting', BYTE_LOAD, 0, 0],
    ['draft_params.id_last', I32_LOAD, 12, 12],
    ['draft_params.prompt', POINTER, 16, 16],
    ['draft_params.result', POINTER, 24, 20],
  ],
  llama_sampler_grammar_apply: [['llama_sampler_grammar.grammar', POINTER, 56, 28]],
  llama_grammar_accept_token: [['llama_grammar.stacks', POINTER, 32, 16]],
  [WHOLE_TEXT]: [
    ['std::string.data', POINTER, 0, 0],
    ['std::string.size', POINTER, 8, 4],
    ['std::string.is_long', SIGNED_BYTE_LOAD, 23, 11],
  ],
};

/** Number of the sources of a product and of attention, in `tensor.src`, that the kernels know. */
const SOURCES = { [MUL_MAT]: 2, [FLASH]: 6 };
const MAX_SOURCES = 10;
/** Position of `tensor.src[0]` with 64-bit addresses. */
const FIRST_SOURCE = 152;

/**
 * Names sources that llama.cpp reads and the kernels would ignore, which silently gives wrong results. In the 32-bit build
 * other instructions look the same; both are built from the same code.
 */
const unknownSources = (bodyOf: (name: string) => Uint8Array): string[] =>
  Object.entries(SOURCES).flatMap(([name, known]) => {
    const body = Buffer.from(bodyOf(name));
    return Array.from({ length: MAX_SOURCES - known }, (_, index) => known + index)
      .filter((index) => body.includes(Buffer.from([...I64_LOAD, ...leb(FIRST_SOURCE + 8 * index)])))
      .map((index) => `${name} reads tensor.src[${index}], which the kernels do not know`);
  });

/**
 * Compares the offsets that the kernels use with those in the module's code.
 * @param bodyOf code of a function by its name
 * @throws Error naming the fields that moved, or sources that the kernels do not know
 */
export function checkStructs(bits: 32 | 64, bodyOf: (name: string) => Uint8Array): void {
  const isWide = bits === 64;
  const moved = Object.entries(FIELDS).flatMap(([name, fields]) => {
    const body = Buffer.from(bodyOf(name));
    return fields.flatMap(([field, instruction, wide, narrow]) => {
      const load = instruction ?? (isWide ? I64_LOAD : I32_LOAD);
      const offset = isWide ? wide : narrow;
      const isThere = body.includes(Buffer.from([...load, ...leb(offset)]));
      return isThere ? [] : [`${name} does not read ${field} at offset ${offset}`];
    });
  });
  const changed = [...moved, ...(isWide ? unknownSources(bodyOf) : [])];
  if (changed.length > 0) throw new Error(`llama.cpp's structs have changed: ${changed.join('; ')}.`);
}

/** The object's functions, by the name of the function that each replaces. */
export const REPLACED = {
  [MUL_MAT]: 'mul_mat',
  [FLASH]: 'flash',
  [GRAPH]: 'compute_graph',
  quantize_row_q8_0_ref: 'quantize_row',
  [CLEAR]: 'clear_buffer',
  [LIMIT_STATES]: 'limit_states',
  wllama_action: 'action',
  'server_context::start_loop()': 'run_step',
  'common_params_speculative::operator=': 'assign_speculation',
  [DRAFT]: 'draft',
  'llama_vocab::tokenize': 'tokenize',
  common_sampler_accept: 'accept_token',
  llama_grammar_init_impl: 'init_grammar',
  llama_grammar_advance_stack: 'advance_stack',
  llama_sampler_grammar_apply: 'apply_grammar',
  llama_grammar_accept_token: 'accept_grammar',
  'nlohmann::json_abi_v3_12_0::detail::serializer<nlohmann::...>::dump_escaped': 'write_text',
  [WHOLE_TEXT]: 'whole_text',
} as const;

const BR_TABLE = 0x0e;
/** Number of llama.cpp's operations but for 0. */
const OPERATIONS = 102;
/** Operations of a chat model, whose code `common_compute_graph` has (tools/kernels/graph.h): sums, products, norms, copies, rows, positions, attention and gates. */
export const COMMON = [2, 7, 25, 29, 32, 34, 35, 40, 42, 46, 48, 74, 101];
/** Reshape, view, permute and transpose compute nothing: the switch leads to its end. */
export const VIEWS = [36, 37, 38, 39];

/** Lets the switch over operations lead to its end for all that are not common: a browser compiles no code that nothing leads to. */
function withCommonOperations(body: Uint8Array): Uint8Array {
  const endAfter = (at: number): number => body[at + OPERATIONS + 1] ?? 0;
  const leadsToEnd = (at: number): boolean => VIEWS.every((each) => body[at + each] === endAfter(at));
  const at = body.findIndex((each, i) => each === OPERATIONS && body[i - 1] === BR_TABLE && leadsToEnd(i));
  if (at < 0) throw new Error(`${GRAPH} has no switch over ${OPERATIONS} operations.`);
  const isRare = (operation: number): boolean => operation <= OPERATIONS && !COMMON.includes(operation);
  return body.map((byte, i) => (i > at && isRare(i - at) ? endAfter(at) : byte));
}

/** Functions of which the object also calls a smaller copy. */
export const PARTS = { [GRAPH]: withCommonOperations };
