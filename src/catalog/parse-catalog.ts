import type { Catalog } from './catalog.ts';
import { CatalogError } from './catalog-error.ts';
import { catalogSchema } from './catalog-schema.ts';

/**
 * What is safe to use as a catalog, wherever it came from.
 * @throws CatalogError
 */
export function parseCatalog(value: unknown): Catalog {
  const parsed = catalogSchema.safeParse(value);
  if (parsed.success) return value as Catalog;
  throw new CatalogError(parsed.error.issues);
}
