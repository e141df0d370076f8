import { z } from '#base/full-zod';
import { catalogSchema, type CatalogEngines } from './catalog-schema.ts';
import type { Catalog, CatalogModel, Variant } from './catalog.ts';
import { ENGINE_RULES } from './engines.ts';

/** Error for an invalid catalog. The message has a line per fault, with its path. */
export class CatalogError extends Error {
  override readonly name = 'CatalogError';
  readonly faults: readonly { path: string; message: string }[];

  constructor(issues: readonly Pick<z.core.$ZodIssue, 'path' | 'message'>[]) {
    const faults = issues.map(({ path, message }) => ({
      path: z.core.toDotPath(path) || 'catalog',
      message,
    }));
    super(
      `The catalog is invalid:\n${faults.map(({ path, message }) => `  ${path}: ${message}`).join('\n')}`,
    );
    this.faults = faults;
  }
}

/** Checks a catalog from any source. @throws CatalogError */
export function parseCatalog(value: unknown, engines: CatalogEngines = ENGINE_RULES): Catalog {
  const parsed = catalogSchema(engines).safeParse(value);
  if (parsed.success) return value as Catalog;
  throw new CatalogError(parsed.error.issues);
}

/** A site's additions to a catalog. */
export interface CatalogExtension {
  ownedBy?: string;
  /** Models to add. A model with an id of the catalog replaces that model. */
  models?: CatalogModel[];
  /** Variants to put before a model's own, by the model's id. */
  prefer?: Record<string, Variant[]>;
  aliases?: Record<string, string>;
}

/**
 * Extends a catalog with a site's own models, weights and names, one extension after another.
 * @throws CatalogError if the result is invalid
 * @example
 * extendCatalog(defaultCatalog, { aliases: { 'gpt-4o-mini': 'indigo-owl-4' } });
 */
export const extendCatalog = (catalog: Catalog, ...extensions: CatalogExtension[]): Catalog =>
  extensions.reduce(extendOnce, catalog);

function extendOnce(catalog: Catalog, extension: CatalogExtension): Catalog {
  const { models = [], prefer = {}, aliases = {} } = extension;
  const own = new Map(models.map((model) => [model.id, model]));
  const replaced = catalog.models.map((model) => own.get(model.id) ?? model);
  const added = models.filter(({ id }) => !catalog.models.some((model) => model.id === id));
  const all = [...replaced, ...added];
  const unknown = Object.keys(prefer).filter((id) => !all.some((model) => model.id === id));
  if (unknown.length > 0)
    throw new CatalogError(unknown.map((id) => ({ path: ['prefer', id], message: "is no model's id" })));
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
