import { CHAT_ARCHITECTURES, ENCODERS, REFUSED_ARCHITECTURES } from './architectures.ts';
import { type ByteCursor, FormatError } from './byte-cursor.ts';
import { align, type Gguf, hasTexts, readNumbers, TENSOR_TYPES, tensorBytes } from './read-gguf.ts';
import type { SamplingDefaults, KvWindow, VariantSampling } from '#catalog';
import { omitNulls, printable } from '#base';

/** Traits of a model, from the header of its GGUF file. */
export interface GgufTraits {
  architecture: string;
  /** Name of the model; null if the file has none. */
  name: string | null;
  /** SPDX id of the licence; null if the file names none. */
  license: string | null;
  /** Maximum context length that the model was trained with. */
  contextLength: number;
  /** Quantization, such as `Q4_K_M`. */
  quantization: string;
  /** Chat template in Jinja; null if the file has none. */
  chatTemplate: string | null;
  /** Whether it has a chat template, or the tokens of ChatML. Otherwise it is only for `/v1/completions`. */
  canChat: boolean;
  /** Dimensions and pooling; null if it is not an embedding model. */
  embedding: { dimensions: number; pooling: 'mean' | 'cls' | 'last_token' } | null;
  /** Whether it scores pairs of texts. */
  reranks: boolean;
  /** Whether the pooling is a guess, as the file of the embedding model names none. */
  guessesPooling: boolean;
  /** Whether the file's tags are those of an embedding model. */
  isTaggedEmbedding: boolean;
  tensors: number;
  /** Sampling settings that its authors recommend, if the file has them. */
  sampling: Pick<VariantSampling, 'topK' | 'minP' | 'repeatPenalty'>;
  /** Recommended values of parameters that a request omits. */
  defaults: SamplingDefaults;
  /**
   * Number of values in the KV cache per token, as if in Q8_0: floats count four times. 0 if the model has no KV
   * cache, or if its size is unknown.
   */
  kvValues: number;
  /** KV cache of the layers with a sliding window; null if none are known. */
  kvWindow: KvWindow | null;
  /** Size of the recurrent layers' state, which does not depend on the context's length. */
  stateBytes: number;
  /** Whether llama.cpp can store keys and values in Q8_0: the size of a head is a multiple of a block. */
  kvInBlocks: boolean;
  /** Position of the file in a split model; null if the model has one file. */
  split: { index: number; count: number } | null;
}

/** llama.cpp's names of file types: consecutive numbers, starting with each given number. */
const FILE_TYPES: [number, string][] = [
  [0, 'F32 F16 Q4_0 Q4_1'],
  [7, 'Q8_0 Q5_0 Q5_1 Q2_K Q3_K_S Q3_K_M Q3_K_L Q4_K_S Q4_K_M Q5_K_S Q5_K_M'],
  [18, 'Q6_K IQ2_XXS IQ2_XS Q2_K_S IQ3_XS IQ3_XXS IQ1_S IQ4_NL IQ3_S IQ3_M'],
  [28, 'IQ2_S IQ2_M IQ4_XS IQ1_M BF16'],
  [36, 'TQ1_0 TQ2_0 MXFP4_MOE NVFP4 Q1_0 Q2_0'],
];
const fileTypes = new Map(
  FILE_TYPES.flatMap(([first, names]) =>
    names.split(' ').map((name, index): [number, string] => [first + index, name]),
  ),
);

const TEMPLATE_KEY = 'tokenizer.chat_template';
/** Template for conversations with tools. If a file has no other, llama.cpp uses it for all conversations. */
const TOOL_TEMPLATE_KEY = `${TEMPLATE_KEY}.tool_use`;

const MAX_CONTEXT = 2 ** 27;
const MAX_LAYERS = 10_000;
const MAX_WIDTH = 2 ** 20;
const MAX_SPLITS = 1000;
const DEFAULT_CONTEXT = 2048;

/** Architectures whose layers have both attention and a recurrent state. */
const WITH_BOTH: ReadonlySet<string> = new Set(['falcon-h1']);

/** Reads traits from a parsed header. @throws FormatError for a model that llama.cpp, or localtext, cannot run */
export function ggufTraits(gguf: Gguf, cursor: ByteCursor): GgufTraits {
  const { metadata, tensors } = gguf;
  const text = (key: string): string | null => {
    const value = metadata.get(key)?.value;
    return typeof value === 'string' && value !== '' ? value : null;
  };
  const bounded = (key: string, value: number, max: number): number => {
    if (value <= max) return value;
    throw new FormatError(`gives ${value} as ${key}; at most ${max} is allowed`);
  };
  const number = (key: string, max: number): number | null => {
    const value = metadata.get(key)?.value;
    // Some tools write -1 for a missing value.
    return isInteger(value) && value >= 0 ? bounded(key, value, max) : null;
  };
  const shown = (key: string): string | null => printable(text(key) ?? '') || null;
  const part = splitPart(number);
  const split = part.count > 1 ? part : null;
  const architecture = text('general.architecture') ?? '';
  // Only the first file of a split model describes the model.
  if (part.index === 0) requireKnown(architecture, gguf);
  // The first part of a split model may have no tensors.
  if (split === null && tensors.length === 0)
    throw new FormatError('has no weights: it may be a vocabulary alone');
  requireTensors(gguf);
  const of = (key: string, max: number): number => number(`${architecture}.${key}`, max) ?? 0;
  const list: SizeList = (name, max) => {
    const key = `${architecture}.${name}`;
    const { at, value } = metadata.get(key) ?? {};
    if (at === undefined || value !== null) return null;
    return readNumbers(cursor, at, MAX_LAYERS)?.map((each) => bounded(key, each, max)) ?? null;
  };
  requireSizes(gguf, architecture);
  const encoder = encoderTraits(architecture, gguf, of, split !== null);
  const generates = encoder.embedding === null && !encoder.reranks;
  const template = chatTemplate(gguf, TEMPLATE_KEY) ?? chatTemplate(gguf, TOOL_TEMPLATE_KEY);
  return {
    architecture,
    name: shown('general.name'),
    license: shown('general.license'),
    contextLength: of('context_length', MAX_CONTEXT) || DEFAULT_CONTEXT,
    quantization: fileTypes.get(number('general.file_type', 2 ** 31) ?? -1) ?? mostBytes(gguf),
    chatTemplate: template,
    canChat: generates && (template !== null || hasChatMl(gguf, cursor)),
    tensors: tensors.length,
    ...samplingTraits(gguf),
    ...(ENCODERS.has(architecture) ? NO_KV_CACHE : kvCache(architecture, of, list)),
    ...encoder,
    isTaggedEmbedding: isTaggedEmbedding(gguf, cursor),
    split,
  };
}

const isInteger = (value: unknown): value is number => Number.isInteger(value);

/** Position of the file in a split model. A file that gives none is the only one. @throws FormatError */
function splitPart(number: (key: string, max: number) => number | null): { index: number; count: number } {
  const count = number('split.count', MAX_SPLITS) ?? 1;
  const index = number('split.no', MAX_SPLITS) ?? 0;
  if (count > 1 && index >= count) throw new FormatError(`is part ${index + 1} of ${count}`);
  return { index, count };
}

/** Sizes of a model, which cannot be 0. Architectures without attention have 0 heads. */
const SIZES = /\.(context_length|block_count|embedding_length)$|^(?!mamba|a?rwkv).*\.attention\.head_count$/;

/** Base of a rotation, which is at least 1: llama.cpp divides by its powers. */
const BASE = /\.rope\.freq_base(_swa)?$/;
/** Term that keeps a norm from a division by 0. It is far below 1. */
const EPSILON = /norm(_rms)?_epsilon$/;

/** @throws FormatError for values that llama.cpp does not check: no tokenizer, no finite number, or no size */
function requireSizes({ metadata }: Gguf, architecture: string): void {
  for (const [key, { value }] of metadata) {
    const isWrong =
      typeof value === 'number'
        ? key.startsWith(`${architecture}.`) &&
          (!Number.isFinite(value) ||
            (value === 0 && SIZES.test(key)) ||
            (value < 1 && BASE.test(key)) ||
            ((value < 0 || value > 1) && EPSILON.test(key)))
        : key === 'tokenizer.ggml.model' && (value === 'none' || value === 'no_vocab');
    if (isWrong) throw new FormatError(`gives ${value} as ${key}`);
  }
}

/**
 * Periods of the layers that see the whole context, with their architectures, for files that do not give it. Source:
 * llama.cpp's `set_swa_pattern()`.
 */
const PERIODS: [number, string][] = [
  [2, 'gemma2 gpt-oss'],
  [4, 'afmoe cohere2 cohere2moe exaone-moe exaone4 laguna llama4 mellum muse-glimmer olmo2 smallthinker'],
  [5, 'gemma3n'],
  [6, 'gemma3'],
  [8, 'plamo3'],
  [Infinity, 'lfm2'],
];
const FULL_LAYERS = new Map(
  PERIODS.flatMap(([period, names]) => names.split(' ').map((name): [string, number] => [name, period])),
);

/** Architectures in which the first layer of each period sees the whole context. In others it is the last. */
const FULL_FIRST: ReadonlySet<string> = new Set(['laguna', 'smallthinker']);

/** Sliding window in tokens by architecture, for files that do not give it. */
const WINDOWS = new Map([['gemma2', 4096]]);

/** Reads a list of sizes, one per layer; null if the file has none, or one size for all layers. */
type SizeList = (name: string, max: number) => number[] | null;

const SAMPLING = 'general.sampling.';
const MAX_TOP_K = 2 ** 20;
const MAX_PENALTY = 2;
const MAX_TEMPERATURE = 2;

/** Reads recommended sampling settings. Invalid ones are left out. */
function samplingTraits({ metadata }: Gguf): Pick<GgufTraits, 'sampling' | 'defaults'> {
  const topK = metadata.get(`${SAMPLING}top_k`)?.value;
  const fraction = (name: string, max: number): number | null => {
    const value = metadata.get(SAMPLING + name)?.value;
    return typeof value === 'number' && value >= 0 && value <= max ? value : null;
  };
  return {
    sampling: {
      ...(isInteger(topK) && topK > 0 && topK <= MAX_TOP_K && { topK }),
      ...omitNulls({
        minP: fraction('min_p', 1),
        repeatPenalty: fraction('penalty_repeat', MAX_PENALTY) || null,
      }),
    },
    defaults: omitNulls({ temperature: fraction('temp', MAX_TEMPERATURE), topP: fraction('top_p', 1) }),
  };
}

type KvCache = Pick<GgufTraits, 'kvValues' | 'kvWindow' | 'stateBytes' | 'kvInBlocks'>;

const NO_KV_CACHE: KvCache = { kvValues: 0, kvWindow: null, stateBytes: 0, kvInBlocks: true };

/** Number of values in a block of Q8_0. */
const BLOCK = 32;

/** @param of reads a size of the architecture; 0 if the file has none, or a list with one per layer */
function kvCache(architecture: string, of: (name: string, max: number) => number, list: SizeList): KvCache {
  const layers = of('block_count', MAX_LAYERS);
  const ofLayers = (name: string): number[] =>
    list(name, MAX_WIDTH)?.slice(0, layers) ?? Array<number>(layers).fill(of(name, MAX_WIDTH));
  const heads = ofLayers('attention.head_count');
  const ownHeads = ofLayers('attention.head_count_kv');
  const counts = ownHeads.some((count) => count > 0) ? ownHeads : heads;
  const interval = of('full_attention_interval', MAX_LAYERS);
  const sharedFrom = layers - of('attention.shared_kv_layers', MAX_LAYERS);
  const recurrent = list('attention.recurrent_layers', 1);
  const hasAttention = (layer: number): boolean =>
    recurrent ? recurrent[layer] !== 1 : interval === 0 || (layer + 1) % interval === 0;
  const hasState = (layer: number): boolean =>
    WITH_BOTH.has(architecture) || counts[layer] === 0 || !hasAttention(layer);
  const some = heads.find((count) => count > 0);
  const headSize = some ? Math.floor(of('embedding_length', MAX_WIDTH) / some) : 0;
  const sizeOf = (name: string, otherwise: number): number => of(`attention.${name}`, MAX_WIDTH) || otherwise;
  const keySize = sizeOf('key_length', headSize);
  const valueSize = sizeOf('value_length', headSize);
  const windowKeySize = sizeOf('key_length_swa', keySize);
  const windowValueSize = sizeOf('value_length_swa', valueSize);
  const kvInBlocks = [keySize, valueSize, windowKeySize, windowValueSize].every((size) => size % BLOCK === 0);
  // Latent attention (MLA) derives the values from the keys.
  const isLatent = of('attention.key_length_mla', MAX_WIDTH) > 0;
  // Floats take four times as many bytes as Q8_0.
  const perHead = (key: number, value: number): number =>
    (isLatent ? key : key + value) * (kvInBlocks ? 1 : 4);
  const tokens = of('attention.sliding_window', MAX_CONTEXT) || (WINDOWS.get(architecture) ?? 0);
  const pattern = list('attention.sliding_window_pattern', MAX_LAYERS);
  const period = of('attention.sliding_window_pattern', MAX_LAYERS) || (FULL_LAYERS.get(architecture) ?? 1);
  const first = FULL_FIRST.has(architecture) ? 0 : 1;
  const seesWindow = (layer: number): boolean =>
    tokens > 0 && (pattern ? pattern[layer] : (layer + first) % period) !== 0;
  let [full, windowed, states] = [0, 0, 0];
  for (const [layer, count] of counts.entries()) {
    if (hasState(layer)) states++;
    // The last layers may share the cache of earlier ones.
    if (layer >= sharedFrom || !hasAttention(layer)) continue;
    if (seesWindow(layer)) windowed += count * perHead(windowKeySize, windowValueSize);
    else full += count * perHead(keySize, valueSize);
  }
  return {
    kvValues: full + windowed,
    kvWindow: windowed > 0 ? { values: windowed, tokens } : null,
    stateBytes: states * layerStateBytes(of),
    kvInBlocks,
  };
}

/** Reads a chat template. @throws FormatError if it is no text or too long, which llama.cpp does not check */
function chatTemplate({ metadata }: Gguf, key: string): string | null {
  const value = metadata.get(key)?.value;
  if (value === null) throw new FormatError('has a chat template of more than 1 MiB, or one that is no text');
  return typeof value === 'string' && value !== '' ? value : null;
}

/** Pooling methods by llama.cpp's number. */
const POOLINGS = new Map([
  [1, 'mean' as const],
  [2, 'cls' as const],
  [3, 'last_token' as const],
]);
const NO_POOLING = 0;
/** Pooling method of rerankers, which score a pair of texts. */
const RANK_POOLING = 4;
/** Weights after the last layer that compute a score, the output of the last of them. */
const CLASSIFIER = /^cls\.(output\.)?weight$/;
/** Qwen's rerankers give the probabilities of yes and no. */
const MAX_SCORES = 2;

const RANK_TEMPLATE_KEY = `${TEMPLATE_KEY}.rerank`;
/** Places of a reranker's template. llama.cpp fills those that it has. */
export const PLACES = ['{query}', '{document}'];

/**
 * What a model computes that generates no text. Encoders whose files name no pooling have the mean, as most are trained.
 * @throws FormatError for a reranker whose scores would not depend on its texts
 */
function encoderTraits(
  architecture: string,
  gguf: Gguf,
  of: SizeOf,
  isPart: boolean,
): Pick<GgufTraits, 'embedding' | 'reranks' | 'guessesPooling'> {
  const type = of('pooling_type', 2 ** 31);
  const rows = gguf.tensors.flatMap(({ name, shape }) => (CLASSIFIER.test(name) ? (shape[1] ?? 1) : []));
  const reranks = type === RANK_POOLING || rows.length > 0;
  if (reranks && rows.length === 0 && !isPart)
    throw new FormatError(`gives ${type} as ${architecture}.pooling_type, and has no classifier (cls)`);
  if (reranks && !isPart && Math.min(...rows) > MAX_SCORES)
    throw new FormatError(`has a classifier (cls) of ${Math.min(...rows)} numbers, which are no score`);
  const template = chatTemplate(gguf, RANK_TEMPLATE_KEY);
  const missing = PLACES.find((place) => reranks && template !== null && !template.includes(place));
  if (missing !== undefined) throw new FormatError(`has no ${missing} in its ${RANK_TEMPLATE_KEY}`);
  const pooling = POOLINGS.get(type) ?? (ENCODERS.has(architecture) ? 'mean' : null);
  if (reranks || pooling === null) return { embedding: null, reranks, guessesPooling: false };
  const dimensions = of('embedding_length_out', MAX_WIDTH) || of('embedding_length', MAX_WIDTH);
  return { embedding: { dimensions, pooling }, reranks, guessesPooling: !POOLINGS.has(type) };
}

/** Tensors after the last layer that project its vectors to embeddings. */
const DENSE = /^dense_\d/;

const TAGS_KEY = 'general.tags';
const EMBEDDING_TAGS = ['sentence-similarity', 'feature-extraction'];

function isTaggedEmbedding({ metadata }: Gguf, cursor: ByteCursor): boolean {
  const { at, value } = metadata.get(TAGS_KEY) ?? {};
  return at !== undefined && value === null && EMBEDDING_TAGS.some((tag) => hasTexts(cursor, at, [tag]));
}

const TOKEN_VECTORS = 'a model that gives each token a vector, as ColBERT does';

/** Descriptions of other files by `general.type`. A projector is detected by its architecture instead. */
const OTHER_TYPES = new Map([
  ['adapter', 'a LoRA adapter, which changes a model: add it together with its model, as one of the files'],
  ['imatrix', 'an importance matrix, by which a model is quantized'],
]);

function requireKnown(architecture: string, gguf: Gguf): void {
  const type = OTHER_TYPES.get(String(gguf.metadata.get('general.type')?.value));
  if (type !== undefined) throw new FormatError(`is no model, but ${type}`);
  if (architecture === '') throw new FormatError('names no architecture: it is no language model');
  const hasNoPooling = gguf.metadata.get(`${architecture}.pooling_type`)?.value === NO_POOLING;
  const isDense = hasNoPooling && gguf.tensors.some(({ name }) => DENSE.test(name));
  const other = isDense ? TOKEN_VECTORS : REFUSED_ARCHITECTURES.get(architecture);
  if (other !== undefined)
    throw new FormatError(
      `is no chat, embedding or reranking model, but ${other} (architecture ${architecture})`,
    );
  if (CHAT_ARCHITECTURES.has(architecture) || ENCODERS.has(architecture)) return;
  const message = `has the architecture ${architecture.slice(0, 40)}, which this version of llama.cpp does not have`;
  throw new FormatError(message);
}

/**
 * Checks what llama.cpp requires of tensors: types that it has, unique names, no empty shapes, and no gaps.
 * @throws FormatError for tensors that it cannot read
 */
export function requireTensors({ tensors, alignment }: Gguf): void {
  const unknown = tensors.find(({ type }) => !TENSOR_TYPES.has(type));
  if (unknown)
    throw new FormatError(
      `has a quantization that this version of llama.cpp does not have (element type ${unknown.type} of ${unknown.name})`,
    );
  const names = new Set<string>();
  let expected = 0;
  for (const tensor of tensors) {
    const { name, shape, type, offset } = tensor;
    const shown = printable(name, 100);
    if (names.has(name)) throw new FormatError(`has two tensors of the name ${shown}`);
    names.add(name);
    if (shape.includes(0)) throw new FormatError(`has an empty tensor, ${shown}`);
    const { elements = 1 } = TENSOR_TYPES.get(type) ?? {};
    if ((shape[0] ?? 1) % elements !== 0)
      throw new FormatError(`has a tensor, ${shown}, whose rows are not of whole blocks of ${elements}`);
    if (offset !== expected)
      throw new FormatError(
        `has its tensor ${shown} at ${offset}, and not at ${expected} behind the one before it`,
      );
    expected = align(offset + tensorBytes(tensor), alignment);
  }
}

/** Name of the element type with the most bytes. */
function mostBytes({ tensors }: Gguf): string {
  const bytes = new Map<number, number>();
  for (const tensor of tensors) bytes.set(tensor.type, (bytes.get(tensor.type) ?? 0) + tensorBytes(tensor));
  const [type] = [...bytes].toSorted(([, a], [, b]) => b - a)[0] ?? [];
  return TENSOR_TYPES.get(type ?? -1)?.name ?? 'unknown';
}

export const TOKENS_KEY = 'tokenizer.ggml.tokens';

/** Whether the vocabulary has the tokens with which ChatML begins and ends a message. */
export function hasChatMl({ metadata }: Gguf, cursor: ByteCursor): boolean {
  const tokens = metadata.get(TOKENS_KEY);
  return tokens !== undefined && hasTexts(cursor, tokens.at, ['<|im_start|>', '<|im_end|>']);
}

/** Reads a size of the architecture; 0 if the file has none, or a list with one per layer. */
type SizeOf = (name: string, max: number) => number;

const FLOAT_BYTES = 4;
/** Number of tokens that an RWKV layer shifts, if the file does not give it. */
const DEFAULT_SHIFT = 2;

/**
 * Size of a recurrent layer's state in bytes, which does not depend on the context's length. Source: llama.cpp's
 * `n_embd_r()` and `n_embd_s()`.
 */
function layerStateBytes(sizeOf: SizeOf): number {
  const size = (name: string): number => sizeOf(name, MAX_WIDTH);
  const width = size('embedding_length');
  const head = size('wkv.head_size');
  if (head > 0) return FLOAT_BYTES * width * ((size('token_shift_count') || DEFAULT_SHIFT) + head);
  const shortConvolution = size('shortconv.l_cache');
  if (shortConvolution > 0) return FLOAT_BYTES * width * (shortConvolution - 1);
  const [inner, state] = [size('ssm.inner_size'), size('ssm.state_size')];
  const convolution =
    Math.max(0, size('ssm.conv_kernel') - 1) * (inner + 2 * size('ssm.group_count') * state);
  return FLOAT_BYTES * (convolution + state * inner);
}
