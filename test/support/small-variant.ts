import type { VariantOf } from '../../src/catalog/catalog.ts';
import { defaultCatalog } from '../../src/catalog/default-catalog.ts';

const whole = defaultCatalog.models[0]?.variants.at(-1);
if (whole?.engine !== 'wllama') throw new Error('the default catalog has no small weights');
const { toolChooser: _, ...alone } = whole;

/** The default catalog's smallest chat model, for catalogs without an embedding model that chooses tools. */
export const small: VariantOf<'wllama'> = alone;
