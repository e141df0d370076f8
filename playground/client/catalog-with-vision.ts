import { defaultCatalog, extendCatalog, vision, type Catalog } from '../../src/catalog/index.ts';

export const catalogWithVision = (catalog = defaultCatalog): Catalog => extendCatalog(catalog, vision);
