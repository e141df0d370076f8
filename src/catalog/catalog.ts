import type { Kind } from '../jobs/kinds.ts';

/** The models and the variants of each. Plain data: a site replaces or extends it. */
export interface Catalog {
  /** The operator that owns the models, the same for all. */
  ownedBy: string;
  models: CatalogModel[];
  /** Other names for an id: `{"gpt-4o-mini": "indigo-owl-4"}`. */
  aliases?: Record<string, string>;
}

export interface CatalogModel {
  id: string;
  kind: Kind;
  /** Unix seconds. */
  created: number;
  /** In order of preference: the first that this device can run, and whose weights can be fetched, is taken. */
  variants: Variant[];
  /** Which side answers when both can. Default: the order of the variants, which is also what the former `race` means. */
  route?: 'device-first' | 'server-first' | 'race';
  /** For requests that name none; default 1 for both, as OpenAI's API has it. */
  defaults?: SamplingDefaults;
}

export interface SamplingDefaults {
  /** 0 (greedy) to 2. */
  temperature?: number;
  /** 0 to 1. */
  topP?: number;
}

/** Sampling settings that OpenAI's API does not have, applied to every request. */
export interface VariantSampling {
  /** Keeps the most probable tokens, this many. Default: all. */
  topK?: number;
  /** Drops tokens less probable than this share (0 to 1) of the most probable one. Default 0: none. */
  minP?: number;
  /** Divides the scores of recent tokens; 1 (the default) changes nothing. */
  repeatPenalty?: number;
}

export type Variant =
  WllamaVariant | TransformersVariant | WhisperVariant | WebLlmVariant | BuiltInVariant | UpstreamVariant;

export interface VariantBase {
  /** Names the weights and their quantization in `system_fingerprint`: `smollm2-135m-instruct-q8_0`. */
  name: string;
  /** SPDX id of the weights' licence. */
  license: string;
  /** Tokens of prompt and reply together. */
  contextLength: number;
  /** Files with pinned size and hash. Empty: the list comes from `hub`, or there are no weights (upstream). */
  files: WeightFile[];
  /** Where weights come from whose list, sizes and hashes only the hub, or a manifest, knows. */
  hub?: HubSource;
  /** What the device must have; nothing named: any device. */
  needs?: DeviceNeeds;
  /** Used only by pages that prefer it by name, even where all variants before it fail. */
  optIn?: boolean;
}

export interface DeviceNeeds {
  /** A GPU through WebGPU that is not a software one. Default for web-llm; false accepts a software GPU. */
  webgpu?: boolean;
  /** WebGPU features by their names in the specification: `shader-f16`. */
  features?: string[];
  /** Bytes of memory that weights, KV cache and working buffers take together. Default: an estimate from the other fields. */
  memoryBytes?: number;
  /** Logical processors, for what the CPU computes. */
  cores?: number;
}

/** A repository of the model hub. Hashes: the hub's own for large files; a manifest written by `localtext pull`. */
export interface HubSource {
  /** `owner/name`. */
  repository: string;
  /** Branch, tag or commit. */
  revision: string;
  /** Folder for the files below the models folder. */
  folder: string;
  /** Names inside the repository; none: all that the engine asks for. */
  files?: string[];
  /** Which of `files` is the projector of a GGUF model that sees. Experimental. */
  projector?: string;
  /** Bytes of all files together, about: for the quota check before anything is downloaded. */
  approximateBytes: number;
}

/** Chat from a GGUF by llama.cpp compiled to WASM. */
export interface WllamaVariant extends VariantBase {
  engine: 'wllama';
  sampling?: VariantSampling;
  /**
   * Keeps what the model's chat template adds by itself, such as a default system message. Otherwise a prompt has the
   * caller's messages alone.
   */
  keepTemplateText?: boolean;
  /** The model has no notation for conversations: it is for `/v1/completions` alone. Default: found when it is loaded. */
  completionsOnly?: boolean;
  /** Values that the KV cache holds for each token, for the estimate of memory: layers × key-value heads × (key + value size). */
  kvValues?: number;
  /**
   * Whether replies that run at once stream evenly; default true. For that, one word in llama.cpp's memory is written, found and
   * tried when the model is loaded. false writes nothing: such replies stream one after another.
   */
  streamsTogether?: boolean;
}

/** Embeddings by transformers.js on onnxruntime-web. */
export interface TransformersVariant extends VariantBase {
  engine: 'transformers';
  /** Where it runs; when not given: WASM, or the GPU once it has been measured to be faster, and right. */
  device?: 'wasm' | 'webgpu';
  /** Length of a vector. */
  dimensions: number;
  pooling: 'mean' | 'cls' | 'last_token';
  /**
   * Texts that may be in the model at once; none: as many as are quickest. 1 for a graph that quantizes by all it is
   * given: a text's vector would depend on its neighbours.
   */
  maxBatchSize?: number;
}

/** Speech to text by Whisper in ONNX: the encoder, and the decoder with its cache (`decoder_model_merged`). Experimental. */
export interface WhisperVariant extends VariantBase {
  engine: 'whisper';
  /** Where it runs. Default: WASM. */
  device?: 'wasm' | 'webgpu';
}

/** Chat by MLC's web-llm on WebGPU: a folder with `mlc-chat-config.json`, and a model library compiled to WASM. */
export interface WebLlmVariant extends VariantBase {
  engine: 'web-llm';
  /** The compiled model library: an absolute URL, or a path below the models folder. */
  library: string;
  /** Keeps the default system message of the model's configuration, where the caller sends none. */
  keepTemplateText?: boolean;
  /** Hidden start of every reply: empty thoughts (`<think>…</think>`), for a model that thinks only when asked to. */
  replyPrefix?: string;
}

/** Chat by the model that the browser has itself (the Prompt API, `LanguageModel`). It has no files: docs/built-in.md. */
export interface BuiltInVariant extends VariantBase {
  engine: 'built-in';
  /** Languages of prompts and replies, as BCP 47 tags: the browser says beforehand whether it has them. Default: not named. */
  languages?: string[];
}

/** An OpenAI-compatible server. Its key is given to `start()`, never in the catalog. */
export interface UpstreamVariant extends VariantBase {
  engine: 'upstream';
  /** Ends before `/chat/completions` or `/audio/transcriptions`: `https://models.example.com/v1`. */
  baseUrl: string;
  /** The model's name there. */
  model: string;
  /** Length of a vector: an embedding model. None: a chat model, or speech to text. */
  dimensions?: number;
  /** Statuses of the server that the caller gets, where the next variant would answer: `[401, 429]`. */
  passThrough?: number[];
  /** From the headers of a reply to its first token, in milliseconds; then the next variant answers. Default: 60,000. */
  firstTokenMs?: number;
}

/** Whether the catalog names the browser's own model. */
export const namesBuiltIn = ({ models }: Catalog): boolean =>
  models.some(({ variants }) => variants.some(({ engine }) => engine === 'built-in'));

/** One file of a model, at `<models URL>/<path>`. */
export interface WeightFile {
  /** Relative to the models folder, `/` between parts: `all-minilm-l6-v2/model.safetensors`. */
  path: string;
  bytes: number;
  /** Hex. */
  sha256: string;
  /** Where it is fetched from when not from the models folder. */
  url?: string;
  /**
   * For a GGUF in Q8_0: the same weights in Q4_1, which are fewer bytes. Downloaded in its place where the models folder
   * has them, and requantized in the browser.
   */
  requantizedFrom?: PinnedFile;
  /** The part of a model that sees: `mmproj` in llama.cpp's terms. Of a GGUF variant. Experimental. */
  role?: 'projector';
}

export const hasProjector = (variant: {
  files: readonly Pick<WeightFile, 'role'>[];
  hub?: Pick<HubSource, 'projector'>;
}): boolean => variant.files.some(({ role }) => role === 'projector') || variant.hub?.projector !== undefined;

/** Whether a model with this variant may take images: a server and the browser's own model say themselves what they take. */
export const maySee = (variant: Variant): boolean =>
  variant.engine === 'upstream' || variant.engine === 'built-in' || hasProjector(variant);

export type PinnedFile = Pick<WeightFile, 'path' | 'bytes' | 'sha256'>;

/** What is downloaded for these files. */
export const downloaded = (files: readonly WeightFile[]): WeightFile[] =>
  files.map((file) => file.requantizedFrom ?? file);

/** These files, and what they are requantized from. */
export const withOrigins = (files: readonly WeightFile[]): WeightFile[] =>
  files.flatMap((file) => (file.requantizedFrom ? [file, file.requantizedFrom] : [file]));

/** The catalog as the device sees it: requests go to servers past its engine. */
export const withoutServers = (catalog: Catalog): Catalog => ({
  ...catalog,
  models: catalog.models.map((model) => ({
    ...model,
    variants: model.variants.filter(({ engine }) => engine !== 'upstream'),
  })),
});
