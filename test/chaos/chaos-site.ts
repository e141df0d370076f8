import { inject } from 'vitest';

import type { Catalog } from '../../src/catalog/catalog.ts';
import { defaultCatalog } from '../../src/catalog/default-catalog.ts';
import { extendCatalog } from '../../src/catalog/parse-catalog.ts';
import { AlteredSite } from '../support/altered-site.ts';
import { speechModel } from '../support/speech/speech-model.ts';
import { VISION_MODEL, visionModel } from '../support/vision/vision-site.ts';

/** A site whose models chat, embed, hear and see. */
export interface ChaosSite {
  url: string;
  catalog: Catalog;
  /** URL of what the speech model hears. */
  clip: string;
  /** Answers in place of the site, by path. */
  handlers: AlteredSite['handlers'];
}

export async function startChaosSite(): Promise<ChaosSite> {
  const [speech, vision] = await Promise.all([speechModel(), visionModel()]);
  const site = await AlteredSite.start(inject('siteUrl'));
  const seeing = vision.catalog.models.filter(({ id }) => id === VISION_MODEL);
  return {
    url: site.url,
    catalog: extendCatalog(defaultCatalog, { models: [...speech.catalog.models, ...seeing] }),
    handlers: site.handlers,
    clip: `${speech.url}/clips/sentence.ogg`,
  };
}
