import type { Catalog } from '../../catalog/catalog.ts';
import type { ModelDirectory, ModelEntry } from '../service-dependencies.ts';

/** The models of a catalog, read again on each request: another tab may have set it since. */
export function catalogDirectory(readCatalog: () => Promise<Catalog>): ModelDirectory {
  let latest: Promise<Catalog> | null = null;
  return {
    prefetch() {
      latest = readCatalog();
      latest.catch(() => undefined);
    },
    async list() {
      return toEntries(await (latest ?? readCatalog()));
    },
    async find(id) {
      const catalog = await (latest ?? readCatalog());
      const entries = toEntries(catalog);
      const named = entries.find((entry) => entry.id === id);
      if (named) return named;
      const { aliases = {} } = catalog;
      const target = Object.hasOwn(aliases, id) ? aliases[id] : undefined;
      return entries.find((entry) => entry.id === target) ?? null;
    },
  };
}

function toEntries({ models, ownedBy }: Catalog): ModelEntry[] {
  return models.map(({ id, kind, created, defaults = {} }) => ({ id, kind, created, ownedBy, defaults }));
}
