import { defaultCatalog, extendCatalog, speech, type Catalog } from '../../src/catalog/index.ts';

export const catalogWithSpeech = (catalog = defaultCatalog): Catalog => extendCatalog(catalog, speech);
