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

/** The browser stops every service worker, at once; the next request starts it again. */
export async function killServiceWorker(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const states = new Map<string, string>();
  let asked = false;
  const stopped = new Promise<void>((resolve) => {
    session.on('ServiceWorker.workerVersionUpdated', ({ versions }) => {
      for (const { versionId, runningStatus } of versions) states.set(versionId, runningStatus);
      // Another tab's request may start it again at once: one event that says so is enough.
      if (asked && versions.some(({ runningStatus }) => runningStatus === 'stopped')) resolve();
    });
  });
  await session.send('ServiceWorker.enable');
  asked = true;
  await session.send('ServiceWorker.stopAllWorkers');
  const already = [...states.values()].every((state) => state === 'stopped');
  if (!already) await Promise.race([stopped, new Promise((resolve) => setTimeout(resolve, 5000))]);
  await session.detach().catch(() => {});
}
