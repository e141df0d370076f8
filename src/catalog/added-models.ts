import type { Catalog, SamplingDefaults, VariantOf } from './catalog.ts';

/** A model that the user added to the site's catalog, in this browser. */
export interface AddedModel {
  /** Value of `model` in requests. */
  id: string;
  /** Name in the model's file. */
  name: string;
  /** Architecture, as llama.cpp names it, such as `llama`. */
  architecture: string;
  /** Quantization, such as `Q4_K_M`. */
  quantization: string;
  /** Tokens of prompt and reply together. */
  contextLength: number;
  /** Total size of its files. */
  bytes: number;
  /** Estimated memory while loaded, in bytes. */
  memoryBytes: number;
  /** Unix time in seconds. */
  created: number;
  /** Set for embedding models. */
  embedding?: EmbeddingShape;
  /** Set for rerankers. */
  reranks?: boolean;
  /** Set for a model without a chat format: use it with `/v1/completions`. */
  completionsOnly?: boolean;
}

/** Dimensions and pooling of an embedding model. */
export type EmbeddingShape = Pick<VariantOf<'transformers'>, 'dimensions' | 'pooling'>;

/** Stored record of an added model. */
export interface AddedModelRecord {
  model: AddedModel;
  variant: VariantOf<'wllama'>;
  /** Default: OpenAI's defaults. */
  defaults?: SamplingDefaults;
}

/**
 * Adds models to a catalog. The catalog's ids and aliases take precedence: if a later catalog uses an added
 * model's id, that model is left out.
 */
export function withAdded(catalog: Catalog, added: readonly AddedModelRecord[]): Catalog {
  const models = added
    .filter(({ model }) => !hasId(catalog, model.id))
    .map(({ model, variant, defaults }) => ({
      id: model.id,
      kind: kindOf(model),
      created: model.created,
      ...(defaults && { defaults }),
      variants: [variant],
    }));
  return models.length === 0 ? catalog : { ...catalog, models: [...catalog.models, ...models] };
}

function kindOf({ embedding, reranks }: AddedModel): 'chat' | 'embedding' | 'rerank' {
  if (reranks) return 'rerank';
  return embedding ? 'embedding' : 'chat';
}

/** Whether the catalog has a model or an alias with this id. */
export const hasId = ({ models, aliases = {} }: Catalog, id: string): boolean =>
  models.some((model) => model.id === id) || Object.hasOwn(aliases, id);

const MODEL_ID = /^[a-z0-9][\w.:@+-]{0,99}$/i;

export const isModelId = (id: string): boolean => MODEL_ID.test(id);

/** Derives an id from a model's name: `SmolLM2 135M Instruct` → `smollm2-135m-instruct`. */
export function toModelId(name: string): string {
  const slug = name
    .toLowerCase()
    .slice(0, 60)
    .replaceAll(/[^a-z0-9.]+/g, '-')
    .replaceAll(/^[-.]+|[-.]+$/g, '');
  return slug || 'model';
}

const VARIANT_PREFIX = 'added/';

/** Name of an added model's variant. @param sha256 hash of its files, so that models of the same name differ */
export const addedVariantName = (id: string, sha256: string): string =>
  `${VARIANT_PREFIX}${id}-${sha256.slice(0, 8)}`;

/** Whether the user added the variant. Its files may have no other source. */
export const isAddedVariant = (name: string): boolean => name.startsWith(VARIANT_PREFIX);

/** Path of a file in the models folder. It contains the content's hash, so that it is unique. */
export const addedFilePath = (sha256: string): string => `${VARIANT_PREFIX}${sha256}.gguf`;
