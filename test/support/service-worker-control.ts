import type { Page } from 'playwright';

import { createDeferred } from '../../src/base/async.ts';

/** Stops every service worker as a browser does that needs the memory; the next request starts it again. */
export async function stopServiceWorker(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const stops = new Map<string, boolean>();
  const stopped = createDeferred();
  let isAsked = false;
  const look = (): void => {
    if (isAsked && stops.size > 0 && [...stops.values()].every(Boolean)) stopped.resolve();
  };
  session.on('ServiceWorker.workerVersionUpdated', ({ versions }) => {
    // Another tab's request may start it again at once: one event that says so is enough.
    for (const { versionId, runningStatus } of versions)
      stops.set(versionId, runningStatus === 'stopped' || (isAsked && stops.get(versionId) === true));
    look();
  });
  const late = setTimeout(() => stopped.resolve(), 10_000);
  try {
    await session.send('ServiceWorker.enable');
    isAsked = true;
    await session.send('ServiceWorker.stopAllWorkers');
    // The browser may have stopped it before.
    look();
    await stopped.promise;
    if (![...stops.values()].every(Boolean)) throw new Error('the service worker did not stop');
  } finally {
    clearTimeout(late);
    await session.detach();
  }
}
