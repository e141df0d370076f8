import type { Catalog, CatalogModel, Variant, VariantOf } from '../../src/catalog/catalog.ts';

const common = { license: 'MIT', contextLength: 2048, files: [] };

export const ggufVariant = (name: string, more: Partial<VariantOf<'wllama'>> = {}): VariantOf<'wllama'> => ({
  ...common,
  engine: 'wllama',
  name,
  ...more,
});

/** A model of a server. */
export const serverVariant = (
  name: string,
  baseUrl: string,
  more: Partial<VariantOf<'upstream'>> = {},
): VariantOf<'upstream'> => ({ ...common, engine: 'upstream', name, baseUrl, model: 'theirs', ...more });

/** An MLC model of the hub's repository `o/tiny`. */
export const mlcVariant = (
  name: string,
  library: string,
  more: Partial<VariantOf<'web-llm'>> = {},
): VariantOf<'web-llm'> => ({
  ...common,
  engine: 'web-llm',
  name,
  library,
  hub: { repository: 'o/tiny', revision: 'main', folder: 'mlc/tiny', approximateBytes: 1 },
  ...more,
});

export const modelOf = (
  id: string,
  variants: Variant[] = [],
  kind: CatalogModel['kind'] = 'chat',
): CatalogModel => ({ id, kind, created: 1, variants });

export const catalogOf = (...models: CatalogModel[]): Catalog => ({ ownedBy: 'us', models });
