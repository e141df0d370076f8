import { createHash } from 'node:crypto';

import type { Catalog, VariantOf } from '../../src/catalog/catalog.ts';
import { defaultCatalog } from '../../src/catalog/default-catalog.ts';
import { AlteredSite } from './altered-site.ts';
import { firstLayers } from './first-layers.ts';
import { GGUF } from './smollm2.ts';

const LAYERS = 2;
const PATH = 'small-chat/model.gguf';

export interface SmallChat {
  /** The default one, whose chat models all have this variant alone. */
  catalog: Catalog;
  variant: VariantOf<'wllama'>;
  /** Has a site serve its weights. */
  serve(site: AlteredSite): void;
}

/** The first layers of the site's chat model, as a GGUF file. */
const smallChatFile = () => firstLayers(GGUF, LAYERS);

/**
 * The first layers of the site's chat model, with its tokens and its template. It loads and answers ten times as fast, and
 * what it says makes no sense: for tests of all that is around a text.
 */
export async function smallChat(contextLength?: number): Promise<SmallChat> {
  const whole = defaultCatalog.models[0]?.variants.at(-1);
  if (whole?.engine !== 'wllama') throw new Error('the default catalog has no small weights');
  const body = await smallChatFile();
  const sha256 = createHash('sha256').update(body).digest('hex');
  const variant = {
    ...whole,
    name: 'small-chat',
    files: [{ path: PATH, bytes: body.length, sha256 }],
    ...(contextLength && { contextLength }),
  };
  const models = defaultCatalog.models.map((model) =>
    model.kind === 'chat' ? { ...model, variants: [variant] } : model,
  );
  const serve = (site: AlteredSite): void => site.serve(`/models/${PATH}`, body);
  return { catalog: { ...defaultCatalog, models }, variant, serve };
}
