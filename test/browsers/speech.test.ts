import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';

import { extendCatalog } from '../../src/catalog/parse-catalog.ts';
import { defaultCatalog } from '../../src/catalog/default-catalog.ts';
import { voices } from '../../src/catalog/media-models.ts';
import { selectedBrowsers } from './support/browsers.ts';
import type { Browser } from './support/driver.ts';
import { SiteTab } from './support/site-tab.ts';

const TEXT = 'The boat left the harbor. It came back before sunrise.';
/** Both sentences take 3 to 5 s. */
const isPlausible = (bytes: number, bytesPerSecond: number): boolean =>
  bytes > 3 * bytesPerSecond && bytes < 6 * bytesPerSecond;

describe.each(selectedBrowsers())('$name', ({ launch }) => {
  let browser: Browser;
  let tab: SiteTab;

  beforeAll(async () => {
    browser = await launch();
    tab = await SiteTab.open(browser, inject('siteUrl'), { catalog: extendCatalog(defaultCatalog, voices) });
  });
  afterAll(() => browser?.close());

  test('speaks in each format, or names those that the browser can write', async () => {
    const pcm = await tab.speak(TEXT, 'pcm');
    expect(pcm).toMatchObject({ type: 'audio/pcm', error: null });
    expect(isPlausible(pcm.bytes, 48_000), `${pcm.bytes}`).toBe(true);
    expect(await tab.speak(TEXT, 'wav')).toEqual({ type: 'audio/wav', bytes: pcm.bytes + 44, error: null });
    // The default.
    const mp3 = await tab.speak(TEXT);
    expect(mp3).toMatchObject({ type: 'audio/mpeg', error: null });
    expect(isPlausible(mp3.bytes, 8000), `${mp3.bytes}`).toBe(true);
    const flac = await tab.speak(TEXT, 'flac');
    expect(flac).toMatchObject({ type: 'audio/flac', error: null });
    expect(flac.bytes, `${flac.bytes}`).toBeLessThan(pcm.bytes);
    for (const format of ['opus', 'aac']) {
      const { bytes, error } = await tab.speak(TEXT, format);
      if (error === null) expect(isPlausible(bytes, 8000), `${format}: ${bytes}`).toBe(true);
      else expect(error).toMatch(new RegExp(`cannot be ${format} in this browser\\. Use mp3, .*wav, pcm`));
    }
  });
});
