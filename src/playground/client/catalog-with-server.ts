import { defaultCatalog, type Catalog } from '../../catalog/index.ts';

/** The small chat model, answered by an OpenAI-compatible server that has the same weights, and by the device without it. */
export function catalogWithServer(baseUrl: string): Catalog {
  const [first, ...others] = defaultCatalog.models;
  if (!first) return defaultCatalog;
  const server = {
    engine: 'upstream' as const,
    name: 'server',
    license: 'Apache-2.0',
    contextLength: 4096,
    files: [],
    baseUrl,
    model: 'smollm2-135m-instruct',
  };
  const routed = { ...first, variants: [...first.variants, server], route: 'server-first' as const };
  return { ...defaultCatalog, models: [routed, ...others] };
}
