import type { Catalog } from '../catalog/catalog.ts';
import { withDatabase } from './database.ts';

const CATALOG = 'catalog';

/** The site's own catalog; null: it has set none. */
export async function readCatalog(scope: string): Promise<Catalog | null> {
  const stored = await withDatabase(scope, (database) => database.get('settings', CATALOG));
  // Written by `writeCatalog` alone.
  return (stored as Catalog | undefined) ?? null;
}

/** Kept for the service worker, which cannot be handed anything that must survive it. */
export async function writeCatalog(scope: string, catalog: Catalog | null): Promise<void> {
  // Most starts change nothing, and a page must start where the storage is full.
  if (JSON.stringify(await readCatalog(scope)) === JSON.stringify(catalog)) return;
  await withDatabase(scope, async (database) => {
    if (catalog) await database.put('settings', catalog, CATALOG);
    else await database.delete('settings', CATALOG);
  });
}
