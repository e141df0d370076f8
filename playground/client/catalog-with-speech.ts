import { defaultCatalog, extendCatalog, speech, type Catalog } from '../../src/catalog/index.ts';

export const catalogWithSpeech = (): Catalog => extendCatalog(defaultCatalog, speech);
