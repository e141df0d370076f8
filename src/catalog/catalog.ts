import type { ModelKind } from '../jobs/kinds.ts';
import type { BuiltInVariant } from './engines/built-in.ts';
import type { Variant } from './engines/index.ts';
import { hasProjector, hasWeights } from './variant.ts';

export type { Variant } from './engines/index.ts';
export type { BuiltInVariant };
export type { VariantSampling, WllamaVariant } from './engines/llama-cpp.ts';
export type { TransformersVariant } from './engines/transformers.ts';
export type { UpstreamVariant } from './engines/upstream.ts';
export type { WebLlmVariant } from './engines/web-llm.ts';
export type { WhisperVariant } from './engines/whisper.ts';
export * from './variant.ts';

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
  kind: ModelKind;
  /** Unix seconds. */
  created: number;
  /**
   * Variants in order of preference: the first that this device can run, and whose weights can be fetched, is taken.
   */
  variants: Variant[];
  /** Side that answers when both can. Default: the order of the variants. */
  route?: 'device-first' | 'server-first';
  /** Sampling of requests that name none. Default: 1 for both, as in OpenAI's API. */
  defaults?: SamplingDefaults;
}

export interface SamplingDefaults {
  /** 0 (greedy) to 2. */
  temperature?: number;
  /** 0 to 1. */
  topP?: number;
}

/** The browser's own model, where this model has it as a variant. */
export const builtInVariant = ({ models, aliases = {} }: Catalog, id: string): BuiltInVariant | undefined =>
  models
    .find((model) => model.id === (aliases[id] ?? id))
    ?.variants.find((variant) => variant.engine === 'built-in');

/** Whether a model with this variant may take images: a server and the browser's own model say themselves what they take. */
export const maySee = (variant: Variant): boolean => !hasWeights(variant) || hasProjector(variant);

/** The catalog as the device sees it: requests go to servers past its engine. */
export const withoutServers = (catalog: Catalog): Catalog => ({
  ...catalog,
  models: catalog.models.map((model) => ({
    ...model,
    variants: model.variants.filter(({ engine }) => engine !== 'upstream'),
  })),
});
