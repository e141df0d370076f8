import { catalogSchema, type CatalogEngines } from './catalog-schema.ts';
import type { Catalog, CatalogModel, Variant } from './catalog.ts';
import { ENGINE_RULES } from './engines/index.ts';

interface Issue {
  path: readonly PropertyKey[];
  message: string;
}

/** A catalog is at fault; the message has a line for each fault, with the way to it. */
export class CatalogError extends Error {
  override readonly name = 'CatalogError';
  readonly faults: readonly { path: string; message: string }[];

  constructor(issues: readonly Issue[]) {
    const faults = issues.map(({ path, message }) => ({ path: pathOf(path), message }));
    super(
      `The catalog is invalid:\n${faults.map(({ path, message }) => `  ${path}: ${message}`).join('\n')}`,
    );
    this.faults = faults;
  }
}

/** `models[1].variants[0].files[2].bytes` */
function pathOf(path: readonly PropertyKey[]): string {
  const way = path.map((part) =>
    typeof part === 'number'
      ? `[${part}]`
      : /^[A-Za-z_]\w*$/.test(String(part))
        ? `.${String(part)}`
        : `["${String(part)}"]`,
  );
  return way.join('').replace(/^\./, '') || 'catalog';
}

/** Checks a catalog from any source. @throws CatalogError */
export function parseCatalog(value: unknown, engines: CatalogEngines = ENGINE_RULES): Catalog {
  const parsed = catalogSchema(engines).safeParse(value);
  if (parsed.success) return value as Catalog;
  throw new CatalogError(parsed.error.issues);
}

/** Additions of a site to a catalog; a model of the same id replaces the catalog's. */
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
