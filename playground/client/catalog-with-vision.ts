import { defaultCatalog, extendCatalog, vision, type Catalog } from '../../src/catalog.ts';

export const catalogWithVision = (catalog = defaultCatalog): Catalog => extendCatalog(catalog, vision);
