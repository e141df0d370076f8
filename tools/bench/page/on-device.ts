import type { Catalog } from '../../../src/catalog/catalog.ts';
import { defaultCatalog } from '../../../src/catalog/default-catalog.ts';
import { start } from '../../../src/index.ts';
import { texts } from './embedding-texts.ts';
import { clientOf } from './engines.ts';
import { elapsed, once } from './once.ts';

const TEXTS = { short: texts(32, 5, 12), mixed: texts(256, 1, 298) };
export type EmbeddingTexts = keyof typeof TEXTS;

/** One model alone, MiniLM in f32, on the backend that is named. */
function catalogOn(backend: 'wasm' | 'webgpu'): Catalog {
  const variant = defaultCatalog.models
    .flatMap(({ variants }) => variants)
    .find(({ name }) => name === 'all-minilm-l6-v2-f32');
  if (variant?.engine !== 'transformers') throw new Error('the default catalog has no MiniLM in f32');
  const variants = [{ ...variant, name: `${variant.name}-${backend}`, backend, optIn: false }];
  return { ownedBy: 'bench', models: [{ id: 'embedding', kind: 'embedding', created: 0, variants }] };
}

const clients = {
  wasm: once(async () => clientOf(await start({ catalog: catalogOn('wasm') }))),
  webgpu: once(async () => clientOf(await start({ catalog: catalogOn('webgpu') }))),
};

/** One request; in milliseconds. A page keeps to the first backend that it is called with. */
export async function embedOn(backend: 'wasm' | 'webgpu', which: EmbeddingTexts): Promise<number> {
  const client = await clients[backend]();
  return elapsed(() => client.embeddings.create({ model: 'embedding', input: TEXTS[which] }));
}
