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

/** The engine's worker ends itself, in the middle of whatever it does; those that it has started end with it. */
export async function killEngine(page: Page): Promise<void> {
  const engine = engineOf(page);
  if (!engine) throw new Error('this tab has no engine');
  const closed = engine.waitForEvent('close');
  engine.evaluate(() => self.close()).catch(() => {});
  await closed;
}
