import type { Catalog, SamplingDefaults, TransformersVariant, WllamaVariant } from './catalog.ts';

/** A model that the user of this browser added, beside those of the site's catalog. */
export interface AddedModel {
  /** Value of `model` in requests. */
  id: string;
  /** Name in the model's file. */
  name: string;
  /** `llama`, as llama.cpp calls it; `bert`, as the model's own config does. */
  architecture: string;
  /** `Q4_K_M`; of an embedding model, `INT8` or `F32`. */
  quantization: string;
  /** Tokens of prompt and reply together. */
  contextLength: number;
  /** Size of its files. */
  bytes: number;
  /** Estimated bytes of memory while loaded. */
  memoryBytes: number;
  /** Unix seconds. */
  created: number;
  /** Embedding models only. */
  embedding?: EmbeddingShape;
  /** Set for a model without a notation for conversations: it is for `/v1/completions` alone. */
  completionsOnly?: boolean;
}

/** Shape of an embedding model's vectors. */
export type EmbeddingShape = Pick<TransformersVariant, 'dimensions' | 'pooling'>;

/** Stored record of an added model. */
export interface AddedModelRecord {
  model: AddedModel;
  variant: WllamaVariant | TransformersVariant;
  /** Absent: OpenAI's. */
  defaults?: SamplingDefaults;
}

/**
 * The catalog with the added models that its ids and aliases leave room for: a catalog that takes an added model's id
 * later keeps its meaning.
 */
export function withAdded(catalog: Catalog, added: readonly AddedModelRecord[]): Catalog {
  const models = added
    .filter(({ model }) => !hasId(catalog, model.id))
    .map(({ model, variant, defaults }) => ({
      id: model.id,
      kind: model.embedding ? ('embedding' as const) : ('chat' as const),
      created: model.created,
      ...(defaults && { defaults }),
      variants: [variant],
    }));
  return models.length === 0 ? catalog : { ...catalog, models: [...catalog.models, ...models] };
}

/** Whether the catalog itself has the id, or an alias of that name. */
export const hasId = ({ models, aliases = {} }: Catalog, id: string): boolean =>
  models.some((model) => model.id === id) || Object.hasOwn(aliases, id);

const MODEL_ID = /^[a-z0-9][\w.:@+-]{0,99}$/i;

export const isModelId = (id: string): boolean => MODEL_ID.test(id);

/** An id made of a model's name: `SmolLM2 135M Instruct` → `smollm2-135m-instruct`. */
export function toModelId(name: string): string {
  const slug = name
    .toLowerCase()
    .slice(0, 60)
    .replaceAll(/[^a-z0-9.]+/g, '-')
    .replaceAll(/^[-.]+|[-.]+$/g, '');
  return slug || 'model';
}

const VARIANT_PREFIX = 'added/';

/** @param sha256 of its content: two models of one name have two variants */
export const addedVariantName = (id: string, sha256: string): string =>
  `${VARIANT_PREFIX}${id}-${sha256.slice(0, 8)}`;

/** Whether the user added it: nobody else can supply its files again. */
export const isAddedVariant = (name: string): boolean => name.startsWith(VARIANT_PREFIX);

/** Path below the models folder, made from the content's hash so that no file takes the path of another. */
export const addedFilePath = (sha256: string): string => `${VARIANT_PREFIX}${sha256}.gguf`;

/** Folder of a model whose engine finds its files by their names. */
export const addedFolder = (repository: string, commit: string): string =>
  `${VARIANT_PREFIX}${repository}/${commit}`;
