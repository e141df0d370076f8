import type { Page } from 'playwright';

/** Stops the page's service worker as a browser does that needs the memory; the next request starts it again. */
export async function stopServiceWorker(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  try {
    let asked = false;
    let allStopped = false;
    let onStopped = (): void => undefined;
    const stopped = new Promise<void>((resolve) => (onStopped = resolve));
    const look = (): void => {
      if (asked && allStopped) onStopped();
    };
    session.on('ServiceWorker.workerVersionUpdated', ({ versions }) => {
      if (versions.length === 0) return;
      allStopped = versions.every(({ runningStatus }) => runningStatus === 'stopped');
      look();
    });
    await session.send('ServiceWorker.enable');
    await session.send('ServiceWorker.stopAllWorkers');
    asked = true;
    // The browser may have stopped it before, or tell so before it answers.
    look();
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
