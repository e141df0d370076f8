import type { BuiltInVariant, Catalog } from './catalog.ts';
import { CatalogError, extendCatalog } from './parse-catalog.ts';

export interface BuiltInOptions {
  /** `first` (the default): before the model's own weights; `last`: after them. */
  place?: 'first' | 'last';
  /** Languages of prompts and replies: `['en', 'ja']`. */
  languages?: string[];
}

/**
 * The catalog with the browser's own model as a variant of this one: docs/built-in.md.
 * @throws CatalogError when it has no such model
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
  const builtIn: BuiltInVariant = {
    engine: 'built-in',
    name: ['built-in', ...(languages ?? [])].join('-'),
    license: 'LicenseRef-browser',
    // Until a session tells: what Chrome's had at first.
    contextLength: 6144,
    files: [],
    ...(languages && { languages }),
  };
  const variants = place === 'first' ? [builtIn, ...model.variants] : [...model.variants, builtIn];
  return extendCatalog(catalog, { models: [{ ...model, variants }] });
}
