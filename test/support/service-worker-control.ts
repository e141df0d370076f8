import type { Page } from 'playwright';

/** Stops the page's service worker as a browser does that needs the memory; the next request starts it again. */
export async function stopServiceWorker(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  try {
    const stopped = new Promise<void>((resolve) => {
      let running = false;
      session.on('ServiceWorker.workerVersionUpdated', ({ versions }) => {
        running ||= versions.some(({ runningStatus }) => runningStatus === 'running');
        if (
          running &&
          versions.length > 0 &&
          versions.every(({ runningStatus }) => runningStatus === 'stopped')
        )
          resolve();
      });
    });
    await session.send('ServiceWorker.enable');
    await session.send('ServiceWorker.stopAllWorkers');
    await Promise.race([stopped, timeout(10_000, 'the service worker did not stop')]);
  } finally {
    await session.detach();
  }
}

async function timeout(ms: number, message: string): Promise<never> {
  return new Promise((_resolve, reject) => {
    setTimeout(() => reject(new Error(message)), ms).unref();
  });
}
