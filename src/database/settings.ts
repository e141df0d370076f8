import type { Catalog } from '../catalog/catalog.ts';
import { withDatabase } from './database.ts';

/** What a page sets and the service worker must still know after a restart; absent: the site has set none. */
export interface SiteSettings {
  /** The site's own catalog. */
  catalog: Catalog | undefined;
  /** Names of variants. */
  prefer: string[] | undefined;
  /** By the variant's name. */
  upstreamKeys: Record<string, string> | undefined;
}

/** The value was written by `writeSettings` alone. */
const read = <Name extends keyof SiteSettings>(scope: string, name: Name): Promise<SiteSettings[Name]> =>
  withDatabase(scope, (database) => database.get('settings', name)) as Promise<SiteSettings[Name]>;

/** The site's own catalog; null: it has set none. */
export const readCatalog = async (scope: string): Promise<Catalog | null> =>
  (await read(scope, 'catalog')) ?? null;

/** What concerns servers. */
export async function readServerSettings(
  scope: string,
): Promise<{ prefer: string[]; upstreamKeys: Record<string, string> }> {
  const [prefer = [], upstreamKeys = {}] = await Promise.all([
    read(scope, 'prefer'),
    read(scope, 'upstreamKeys'),
  ]);
  return { prefer, upstreamKeys };
}

export async function writeSettings(scope: string, settings: SiteSettings): Promise<void> {
  for (const name of ['catalog', 'prefer', 'upstreamKeys'] as const) {
    const value = settings[name];
    // Most starts change nothing, and a page must start where the storage is full.
    if (JSON.stringify(await read(scope, name)) === JSON.stringify(value)) continue;
    await withDatabase(scope, async (database) => {
      if (value) await database.put('settings', value, name);
      else await database.delete('settings', name);
    });
  }
}
