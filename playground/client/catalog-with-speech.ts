import { defaultCatalog, extendCatalog, speech, type Catalog } from '../../src/catalog.ts';

export const catalogWithSpeech = (catalog = defaultCatalog): Catalog => extendCatalog(catalog, speech);
