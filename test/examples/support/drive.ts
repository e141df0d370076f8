import type { BrowserContext, Page } from 'playwright';

const READY_MS = 90_000;

/** Opens an example's page, and downloads what it asks for; what goes wrong in it fails the test that reads `faults`. */
export async function openExample(
  context: BrowserContext,
  url: string,
  { downloads = true } = {},
): Promise<{ page: Page; faults: string[] }> {
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', (error) => {
    console.error(`page error at ${url}: ${error.message}`);
    faults.push(error.message);
  });
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(`${message.text()} (${message.location().url})`);
  });
  if (downloads) await page.addInitScript(clickDownloads);
  await page.goto(url);
  return { page, faults };
}

/** Runs in the page: a visitor who downloads what the page asks for. */
function clickDownloads(): void {
  setInterval(() => {
    for (const button of document.querySelectorAll('button'))
      if (button.textContent === 'Download') button.click();
  }, 100);
}

/** Waits until the page can be asked, asks, and waits for the whole reply. */
export async function ask(page: Page, question?: string): Promise<string> {
  const button = page.locator('form button').first();
  await button
    .and(page.locator(':enabled'))
    .waitFor({ timeout: READY_MS })
    .catch(async () => {
      const text = await page.locator('body').innerText();
      throw new Error(`the page could not be asked in ${READY_MS / 1000} s; it says:\n${text}`);
    });
  if (question !== undefined) await page.locator('input[name=prompt]').fill(question);
  await button.click();
  await button.and(page.locator(':disabled')).waitFor({ timeout: 10_000 });
  await button.and(page.locator(':enabled')).waitFor({ timeout: 120_000 });
  // What streams is beside the status.
  return (await page.locator('.reply, output').first().innerText()).trim();
}
