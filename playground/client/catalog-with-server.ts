import { defaultCatalog, type Catalog } from '../../src/catalog.ts';

const SMALL = 'amber-phoenix-4';

/** The small chat model with an OpenAI-compatible server that has the same weights; the device answers if the server fails. */
export function catalogWithServer(baseUrl: string, catalog = defaultCatalog): Catalog {
  const server = {
    engine: 'upstream' as const,
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
      model.id === SMALL
        ? { ...model, variants: [...model.variants, server], route: 'server-first' as const }
        : model,
    ),
  };
}
