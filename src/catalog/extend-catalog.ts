import type { Catalog, CatalogModel, Variant } from './catalog.ts';
import { CatalogError } from './catalog-error.ts';
import { parseCatalog } from './parse-catalog.ts';

/** What a site adds to a catalog, or puts in the place of parts of it. */
export interface CatalogExtension {
  ownedBy?: string;
  /** A model of an id that is there already takes its place; others come after. */
  models?: CatalogModel[];
  /** Variants that come before those that a model has, by the model's id. */
  prefer?: Record<string, Variant[]>;
  aliases?: Record<string, string>;
}

/**
 * The catalog with a site's own models, weights and names.
 * @throws CatalogError when the whole would be at fault
 * @example
 * extendCatalog(defaultCatalog, { aliases: { 'gpt-4o-mini': 'indigo-owl-4' } });
 */
export function extendCatalog(catalog: Catalog, extension: CatalogExtension): Catalog {
  const { models = [], prefer = {}, aliases = {} } = extension;
  const own = new Map(models.map((model) => [model.id, model]));
  const replaced = catalog.models.map((model) => own.get(model.id) ?? model);
  const added = models.filter(({ id }) => !catalog.models.some((model) => model.id === id));
  const all = [...replaced, ...added];
  const unknown = Object.keys(prefer).filter((id) => !all.some((model) => model.id === id));
  if (unknown.length > 0) {
    throw new CatalogError(unknown.map((id) => ({ path: ['prefer', id], message: "is no model's id" })));
  }
  const withPreferred = all.map((model) => {
    const first = prefer[model.id] ?? [];
    const rest = model.variants.filter(({ name }) => !first.some((variant) => variant.name === name));
    return { ...model, variants: [...first, ...rest] };
  });
  return parseCatalog({
    ownedBy: extension.ownedBy ?? catalog.ownedBy,
    models: withPreferred,
    aliases: { ...catalog.aliases, ...aliases },
  });
}
