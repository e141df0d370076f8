import type { Page } from 'playwright';

/** The renderer dies, as when the device is out of memory. */
export async function crash(page: Page): Promise<void> {
  const crashed = page.waitForEvent('crash');
  const session = await page.context().newCDPSession(page);
  // It is never answered.
  session.send('Page.crash').catch(() => {});
  await crashed;
}

/** The engine's worker ends itself, in the middle of whatever it does; those that it has started end with it. */
export async function killEngine(page: Page): Promise<void> {
  const engine = page.workers().find((worker) => /\/worker-[^/]+\.js$/.test(worker.url()));
  if (!engine) throw new Error(`no engine here: ${page.workers().map((worker) => worker.url())}`);
  const closed = engine.waitForEvent('close');
  engine.evaluate(() => self.close()).catch(() => {});
  await closed;
}
