import type { Page, Worker } from 'playwright';

/** The renderer dies, as when the device is out of memory. */
export async function crash(page: Page): Promise<void> {
  const crashed = page.waitForEvent('crash');
  const session = await page.context().newCDPSession(page);
  // It is never answered.
  session.send('Page.crash').catch(() => {});
  await crashed;
}

export const engineOf = (page: Page): Worker | undefined =>
  page.workers().find((worker) => /\/worker-[^/]+\.js$/.test(worker.url()));

export const killEngine = (page: Page): Promise<void> => page.evaluate(() => window.lifetime.killEngine());
