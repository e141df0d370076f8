import { extendCatalog, speech, type Catalog } from '../../src/catalog.ts';

export const catalogWithSpeech = (catalog: Catalog): Catalog => extendCatalog(catalog, speech);
