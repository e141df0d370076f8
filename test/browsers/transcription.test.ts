import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';

import { FORMATS, SENTENCE, speechModel } from '../support/speech/speech-model.ts';
import { selectedBrowsers } from './support/browsers.ts';
import type { Browser } from './support/driver.ts';
import { SiteTab } from './support/site-tab.ts';

let model: Awaited<ReturnType<typeof speechModel>>;

beforeAll(async () => {
  model = await speechModel();
});
afterAll(() => model.close());

describe.each(selectedBrowsers())('$name', ({ launch }) => {
  let browser: Browser;
  let tab: SiteTab;

  beforeAll(async () => {
    browser = await launch();
    tab = await SiteTab.open(browser, inject('siteUrl'), { catalog: model.catalog });
  });
  afterAll(() => browser?.close());

  test('transcribes each format, and names the one that the browser lacks', async () => {
    const heard: Record<string, string> = {};
    for (const ending of FORMATS)
      heard[ending] = await tab.transcribe(`${model.url}/clips/sentence.${ending}`);
    const expected: Record<string, unknown> = Object.fromEntries(FORMATS.map((ending) => [ending, SENTENCE]));
    // Firefox and WebKitGTK leave AAC to libraries of the system.
    if (!(await tab.plays('audio/mp4; codecs="mp4a.40.2"')))
      expected['m4a'] = expect.stringMatching(/^`file` is in aac, .* It decodes wav, .*flac/);
    expect(heard).toEqual(expected);
  });
});
