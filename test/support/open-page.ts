import type { BrowserContext, Page } from 'playwright';

export interface StartedPage {
  page: Page;
  /** A key of the page's own. */
  key: string;
  keyId: string;
}

/**
 * The test page with localtext started and a key issued. What the page logs as an error is shown.
 * @param where its path, or the options that it starts with
 */
export async function openPage(
  context: BrowserContext,
  siteUrl: string,
  where: string | object = {},
): Promise<StartedPage> {
  const page = await context.newPage();
  page.on('pageerror', (error) => console.error(`page error: ${error.message}`));
  page.on('crash', () => console.error('the page crashed'));
  const path =
    typeof where === 'string'
      ? where
      : `/test-page.html#options=${encodeURIComponent(JSON.stringify(where))}`;
  await page.goto(siteUrl + path);
  const { key, id } = await page.evaluate(async () => {
    const localtext = await window.localtext;
    return localtext.keys.issue({ label: 'test' });
  });
  return { page, key, keyId: id };
}
