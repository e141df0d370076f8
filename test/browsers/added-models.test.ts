import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';

import { counting } from '../browser/lifetime/support/site-of-tabs.ts';
import { selectedBrowsers } from './support/browsers.ts';
import type { Browser } from './support/driver.ts';
import { SiteTab } from './support/site-tab.ts';

/** Any GGUF will do: the site's own, added as if it were the user's. */
const GGUF = '/models/smollm2-135m-instruct/SmolLM2-135M-Instruct.Q8_0.gguf';

describe.each(selectedBrowsers())('$name', ({ launch }) => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser?.close());

  test('a GGUF file of the user chats, also after a reload, until it is removed', async () => {
    const tab = await SiteTab.open(browser, inject('siteUrl'), {});
    // A first try that failed may have left it.
    await tab.removeModel('mine').catch(() => undefined);
    expect(await tab.addModel(GGUF, 'mine')).toMatchObject({
      id: 'mine',
      architecture: 'llama',
      bytes: 144811072,
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
