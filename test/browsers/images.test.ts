import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';

import { dataUrl, GIF, PICTURES } from '../support/vision/pictures.ts';
import { VISION_MODEL, visionModel } from '../support/vision/vision-site.ts';
import { selectedBrowsers } from './support/browsers.ts';
import type { Browser } from './support/driver.ts';
import { SiteTab } from './support/site-tab.ts';

let model: Awaited<ReturnType<typeof visionModel>>;
/** Replies of the first browser; the others are compared with them. */
let firstReplies: string[] | null = null;

beforeAll(async () => {
  model = await visionModel();
});
afterAll(() => model.close());

const about = (url: string) => ({
  model: VISION_MODEL,
  messages: [
    {
      role: 'user' as const,
      content: [
        { type: 'text' as const, text: 'What is it?' },
        { type: 'image_url' as const, image_url: { url } },
      ],
    },
  ],
  max_tokens: 8,
  temperature: 0,
});

describe.each(selectedBrowsers())('$name', ({ name, launch }) => {
  let browser: Browser;
  let tab: SiteTab;

  beforeAll(async () => {
    browser = await launch({ computesLittle: true });
    tab = await SiteTab.open(browser, inject('siteUrl'), { catalog: model.catalog });
  });
  afterAll(() => browser?.close());

  test('a chat about a picture: the same tokens, as PNG and GIF', async () => {
    await tab.ready(VISION_MODEL);
    const urls = [...PICTURES.map((file) => dataUrl(file)), dataUrl(GIF, 'image/gif')];
    const replies: string[] = [];
    for (const url of urls) {
      const run = await tab.run(about(url), 120_000);
      expect(run).toMatchObject({ usage: { completion_tokens: 8 }, error: null });
      replies.push(run?.text[0] ?? '');
    }
    expect(new Set(replies).size).toBeGreaterThan(3);
    firstReplies ??= replies;
    expect(replies).toEqual(firstReplies);
  });

  // Only Firefox has such a preference.
  if (name === 'firefox')
    test('a browser that alters canvases: a picture is refused, with the reason', async () => {
      const altering = await launch({ altersCanvases: true });
      onTestFinished(() => altering.close());
      const other = await SiteTab.open(altering, inject('siteUrl'), { catalog: model.catalog });
      await other.ready(VISION_MODEL);
      const [picture = GIF] = PICTURES;
      const run = await other.run(about(dataUrl(picture)), 120_000);
      expect(run?.error).toMatchObject({
        status: 400,
        message: expect.stringContaining('this browser alters what a page reads from a canvas') as string,
      });
    });
});
