import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';

import { counting } from '../browser/lifetime/support/site-of-tabs.ts';
import { AlteredSite } from '../support/altered-site.ts';
import { firstLayers } from '../support/first-layers.ts';
import { selectedBrowsers } from './support/browsers.ts';
import type { Browser } from './support/driver.ts';
import { SiteTab } from './support/site-tab.ts';

/** Any GGUF will do: the beginning of the site's own. */
const GGUF = 'public/models/smollm2-135m-instruct/SmolLM2-135M-Instruct.Q8_0.gguf';
const PATH = '/mine.gguf';

describe.each(selectedBrowsers())('$name', ({ launch }) => {
  let browser: Browser;
  let site: AlteredSite;
  let gguf: Buffer;

  beforeAll(async () => {
    [browser, site, gguf] = await Promise.all([
      launch(),
      AlteredSite.start(inject('siteUrl'), { isolated: true }),
      firstLayers(GGUF, 2),
    ]);
    site.serve(PATH, gguf);
  });
  afterAll(async () => {
    await browser?.close();
    await site?.stop();
  });

  test('a GGUF file of the user chats, also after a reload, until it is removed', async () => {
    const tab = await SiteTab.open(browser, site.url, {});
    // A first try that failed may have left it.
    await tab.removeModel('mine').catch(() => undefined);
    expect(await tab.addModel(PATH, 'mine')).toMatchObject({
      id: 'mine',
      architecture: 'llama',
      bytes: gguf.length,
    });
    const ask = { ...counting({ max_tokens: 6 }), model: 'mine' };
    const first = await tab.run(ask, 120_000);
    expect(first).toMatchObject({ usage: { completion_tokens: 6 }, error: null });
    await tab.reload();
    expect((await tab.run(ask, 120_000))?.text).toEqual(first?.text);
    await tab.removeModel('mine');
    expect(await tab.run(ask)).toMatchObject({ error: { status: 404 } });
    expect(await tab.storedVariants()).not.toContainEqual(expect.stringMatching(/^(added|unfinished)/));
    await tab.close();
  });
});
