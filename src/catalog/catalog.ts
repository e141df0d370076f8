/** Which models there are, and which weights may stand behind each id. Data: a site replaces or extends it. */
export interface Catalog {
  /** The operator that owns the models, the same for all. */
  ownedBy: string;
  models: CatalogModel[];
  /** Other names for an id: `{"gpt-4o-mini": "indigo-owl-4"}`. */
  aliases?: Record<string, string>;
}

export interface CatalogModel {
  id: string;
  kind: 'chat' | 'embedding';
  /** Unix seconds. */
  created: number;
  /** In order of preference: the first that this device can run, and whose weights can be had, is taken. */
  variants: Variant[];
}

export type Variant = WllamaVariant | TransformersVariant;

interface VariantBase {
  /** Names the weights and their quantization in `system_fingerprint`: `smollm2-135m-instruct-q4_1`. */
  name: string;
  /** SPDX id of the weights' licence. */
  license: string;
  /** Tokens of prompt and reply together. */
  contextLength: number;
  files: WeightFile[];
}

/** Chat from a GGUF by llama.cpp compiled to WASM. */
export interface WllamaVariant extends VariantBase {
  engine: 'wllama';
}

/** Embeddings by transformers.js on onnxruntime-web. */
export interface TransformersVariant extends VariantBase {
  engine: 'transformers';
  /** Length of a vector. */
  dimensions: number;
  pooling: 'mean' | 'cls' | 'last_token';
}

/** One file of a model, at `<models URL>/<path>`. */
export interface WeightFile {
  /** Relative to the models folder, `/` between parts: `all-minilm-l6-v2/model.safetensors`. */
  path: string;
  bytes: number;
  /** Hex. */
  sha256: string;
}
