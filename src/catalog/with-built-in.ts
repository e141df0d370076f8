import type { Catalog, VariantOf } from './catalog.ts';
import { CatalogError, extendCatalog } from './parse-catalog.ts';

export interface BuiltInOptions {
  /** Position among the model's variants. Default: `first`. */
  place?: 'first' | 'last';
  /** Languages of prompts and replies, such as `['en', 'ja']`. */
  languages?: string[];
}

/**
 * Adds the browser's own model as a variant of a model (docs/capabilities.md).
 * @throws CatalogError if the catalog has no such model
 * @example
 * start({ catalog: withBuiltIn(defaultCatalog, 'amber-phoenix-4') });
 */
export function withBuiltIn(
  catalog: Catalog,
  id: string,
  { place = 'first', languages }: BuiltInOptions = {},
): Catalog {
  const model = catalog.models.find((each) => each.id === id);
  if (!model) throw new CatalogError([{ path: ['models'], message: `have none with the id ${id}` }]);
  const builtIn: VariantOf<'built-in'> = {
    engine: 'built-in',
    name: ['built-in', ...(languages ?? [])].join('-'),
    license: 'LicenseRef-browser',
    // Used until a session reports its own. Chrome's first sessions had this length.
    contextLength: 6144,
    files: [],
    ...(languages && { languages }),
  };
  const variants = place === 'first' ? [builtIn, ...model.variants] : [...model.variants, builtIn];
  return extendCatalog(catalog, { models: [{ ...model, variants }] });
}
