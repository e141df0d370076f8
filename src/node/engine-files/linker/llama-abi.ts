import { leb } from './wasm-module.ts';

/** A part of a llama.cpp struct that the kernels read, and the instruction by which llama.cpp reads it. */
interface Field {
  name: string;
  instruction: readonly number[];
  offset: number;
}

const I32_LOAD = [0x28, 2];
const I64_LOAD = [0x29, 3];
const F32_LOAD = [0x2a, 2];
const BYTE_LOAD = [0x2d, 0];
const ATOMIC_STORE = [0xfe, 0x17, 2];
const ATOMIC_ADD = [0xfe, 0x1e, 2];

/** Reads a signed byte: where a `std::string` says whether it is long. */
const SIGNED_BYTE_LOAD = [0x2c, 0];

const MUL_MAT = 'ggml_compute_forward_mul_mat';
const FLASH = 'ggml_compute_forward_flash_attn_ext_f16_one_chunk';
const GRAPH = 'ggml_graph_compute_thread';
const QUANTIZE = 'quantize_row_q8_0_ref';
const CLEAR = 'ggml_backend_cpu_buffer_clear';
const LIMIT_STATES = 'server_prompt_cache::update()';
const ACTION = 'wllama_action';
const STEP = 'server_context::start_loop()';
const SPECULATION = 'common_params_speculative::operator=';
const DRAFT = 'common_speculative_impl_ngram_simple::draft';
const TOKENIZE = 'llama_vocab::tokenize';
const ACCEPT = 'common_sampler_accept';
const WRITE_TEXT = 'nlohmann::json_abi_v3_12_0::detail::serializer<nlohmann::...>::dump_escaped';
const WHOLE_TEXT = 'validate_utf8';

/** What the kernels assume of llama.cpp's structs (tools/kernels/ggml.h), by the function that shows it. */
function fieldsOf(bits: 32 | 64): Readonly<Record<string, readonly Field[]>> {
  const isWide = bits === 64;
  const pointer = isWide ? I64_LOAD : I32_LOAD;
  const field = (name: string, instruction: readonly number[], wide: number, narrow: number): Field => ({
    name,
    instruction,
    offset: isWide ? wide : narrow,
  });
  return {
    [MUL_MAT]: [
      field('tensor.ne[0]', I64_LOAD, 16, 8),
      field('tensor.ne[1]', I64_LOAD, 24, 16),
      field('tensor.nb[0]', pointer, 48, 40),
      field('tensor.nb[1]', pointer, 56, 44),
      field('tensor.src[0]', pointer, 152, 128),
      field('tensor.src[1]', pointer, 160, 132),
      field('tensor.data', pointer, 248, 176),
      field('params.nth', I32_LOAD, 4, 4),
      field('params.use_ref', BYTE_LOAD, 32, 20),
      field('threadpool.current_chunk', ATOMIC_STORE, 256, 256),
      field('threadpool.current_chunk', ATOMIC_ADD, 256, 256),
    ],
    [FLASH]: [
      field('tensor.op_params[0]', F32_LOAD, 84, 60),
      field('tensor.src[1]', pointer, 160, 132),
      field('tensor.src[2]', pointer, 168, 136),
      field('tensor.src[3]', pointer, 176, 140),
      field('tensor.src[4]', pointer, 184, 144),
      field('tensor.src[5]', pointer, 192, 148),
    ],
    [GRAPH]: [
      field('state.threadpool', pointer, 528, 524),
      field('threadpool.cgraph', pointer, 88, 72),
      field('cgraph.n_nodes', I32_LOAD, 4, 4),
      field('cgraph.nodes', pointer, 16, 12),
      field('tensor.op', I32_LOAD, 80, 56),
    ],
    [CLEAR]: [
      field('ggml_backend_buffer.context', pointer, 120, 60),
      field('ggml_backend_buffer.size', pointer, 128, 64),
    ],
    [LIMIT_STATES]: [
      field('server_prompt_cache.limit_size', pointer, 24, 12),
      field('server_prompt_cache.limit_tokens', pointer, 32, 16),
    ],
    [DRAFT]: [
      field('draft_params.drafting', BYTE_LOAD, 0, 0),
      field('draft_params.id_last', I32_LOAD, 12, 12),
      field('draft_params.prompt', pointer, 16, 16),
      field('draft_params.result', pointer, 24, 20),
    ],
    [WHOLE_TEXT]: [
      field('std::string.data', pointer, 0, 0),
      field('std::string.size', pointer, 8, 4),
      field('std::string.is_long', SIGNED_BYTE_LOAD, 23, 11),
    ],
  };
}

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
  const moved = Object.entries(fieldsOf(bits)).flatMap(([name, fields]) => {
    const body = Buffer.from(bodyOf(name));
    return fields
      .filter(({ instruction, offset }) => !body.includes(Buffer.from([...instruction, ...leb(offset)])))
      .map(({ name: field, offset }) => `${name} does not read ${field} at offset ${offset}`);
  });
  const changed = [...moved, ...(bits === 64 ? unknownSources(bodyOf) : [])];
  if (changed.length > 0) throw new Error(`llama.cpp's structs have changed: ${changed.join('; ')}.`);
}

/** The object's functions, by the name of the function that each replaces. */
export const REPLACED = {
  [MUL_MAT]: 'mul_mat',
  [FLASH]: 'flash',
  [GRAPH]: 'compute_graph',
  [QUANTIZE]: 'quantize_row',
  [CLEAR]: 'clear_buffer',
  [LIMIT_STATES]: 'limit_states',
  [ACTION]: 'action',
  [STEP]: 'run_step',
  [SPECULATION]: 'assign_speculation',
  [DRAFT]: 'draft',
  [TOKENIZE]: 'tokenize',
  [ACCEPT]: 'accept_token',
  [WRITE_TEXT]: 'write_text',
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
