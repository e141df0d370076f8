import { defaultCatalog, withBuiltIn, type Catalog } from '../../src/catalog.ts';
import { BUILT_IN_MODEL } from './add-built-in.ts';

export const catalogWithBuiltIn = (catalog = defaultCatalog): Catalog => withBuiltIn(catalog, BUILT_IN_MODEL);
