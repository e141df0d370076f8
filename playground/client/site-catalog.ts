import {
  type Catalog,
  defaultCatalog,
  extendCatalog,
  speech,
  type VariantOf,
  vision,
  voices,
  withBuiltIn,
} from '../../src/catalog.ts';
import { BUILT_IN_MODEL, builtInAdded, offersBuiltIn, visionAdded } from './catalog-settings.ts';

/** The catalog that this page starts with. */
export function siteCatalog(): Catalog {
  const added = [voices, speech, ...(visionAdded.peek() ? [vision] : [])];
  const catalog = extendCatalog(defaultCatalog, ...added);
  const all = offersBuiltIn && builtInAdded.peek() ? withBuiltIn(catalog, BUILT_IN_MODEL) : catalog;
  // Set when Vite starts: `VITE_SERVER=http://127.0.0.1:8000/v1 npx vite`.
  const server = import.meta.env['VITE_SERVER'] as string | undefined;
  return server ? withServer(all, server) : all;
}

const SMALL = 'amber-phoenix-4';

/** The small chat model with an OpenAI-compatible server that has the same weights; the device answers if the server fails. */
function withServer(catalog: Catalog, baseUrl: string): Catalog {
  const server: VariantOf<'upstream'> = {
    engine: 'upstream',
    name: 'server',
    license: 'Apache-2.0',
    contextLength: 4096,
    files: [],
    baseUrl,
    model: 'smollm2-135m-instruct',
  };
  return {
    ...catalog,
    models: catalog.models.map((model) =>
      model.id === SMALL ? { ...model, variants: [...model.variants, server], route: 'server-first' } : model,
    ),
  };
}
