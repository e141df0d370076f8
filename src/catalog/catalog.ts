import type { ModelKind } from '#jobs';
import type { Variant, VariantOf } from './engines.ts';
import { hasProjector, hasWeights } from './variant.ts';

export type { Variant, VariantOf } from './engines.ts';
export * from './variant.ts';

/** Models and their variants. Plain data, which a site can replace or extend. */
export interface Catalog {
  /** Value of `owned_by` for all models. */
  ownedBy: string;
  models: CatalogModel[];
  /** Maps other names to ids: `{"gpt-4o-mini": "indigo-owl-4"}`. */
  aliases?: Record<string, string>;
}

export interface CatalogModel {
  id: string;
  kind: ModelKind;
  /** Unix time in seconds. */
  created: number;
  /** Variants in order of preference. The first that this device can run, and whose weights can be fetched, is selected. */
  variants: Variant[];
  /** Side that answers if both the device and a server can. Default: the order of the variants. */
  route?: 'device-first' | 'server-first';
  /** Sampling for requests that set none. Default: 1 for both, as in OpenAI's API. */
  defaults?: SamplingDefaults;
}

export interface SamplingDefaults {
  /** 0 (greedy) to 2. */
  temperature?: number;
  /** 0 to 1. */
  topP?: number;
}

/** Finds the browser's own model among a model's variants. */
export const builtInVariant = (
  { models, aliases = {} }: Catalog,
  id: string,
): VariantOf<'built-in'> | undefined =>
  models
    .find((model) => model.id === (aliases[id] ?? id))
    ?.variants.find((variant) => variant.engine === 'built-in');

/** Place of a variant in the order that the page prefers; those that it does not name come last. */
export function preferenceOf({ name }: Pick<Variant, 'name'>, prefer: readonly string[]): number {
  const place = prefer.indexOf(name);
  return place >= 0 ? place : prefer.length;
}

/** Whether a variant may take images. Servers and the browser's own model, which have no weights, report that themselves. */
export const maySee = (variant: Variant): boolean => !hasWeights(variant) || hasProjector(variant);

/** Removes server variants: the engine worker never handles their requests. */
export const withoutServers = (catalog: Catalog): Catalog => ({
  ...catalog,
  models: catalog.models.map((model) => ({
    ...model,
    variants: model.variants.filter(({ engine }) => engine !== 'upstream'),
  })),
});
