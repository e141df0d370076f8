import type { BrowserContext, CDPSession } from 'playwright';

/** Bytes that the heaps of the workers and service workers of this URL hold, after collections. */
export async function workerHeaps(context: BrowserContext, url: RegExp): Promise<number> {
  const browser = await context.browser()?.newBrowserCDPSession();
  if (!browser) throw new Error('the context has no browser');
  try {
    const { targetInfos } = await browser.send('Target.getTargets', { filter: [{}] });
    const workers = targetInfos.filter((info) => url.test(info.url) && info.type !== 'page');
    if (workers.length === 0) throw new Error(`no worker runs ${url.source}`);
    let bytes = 0;
    for (const { targetId } of workers) bytes += await heapOf(browser, targetId);
    return bytes;
  } finally {
    await browser.detach();
  }
}

/** Playwright has no session for workers: their messages go through the browser's. */
async function heapOf(browser: CDPSession, targetId: string): Promise<number> {
  const { sessionId } = await browser.send('Target.attachToTarget', { targetId, flatten: false });
  const ask = (id: number, method: string): Promise<string> =>
    new Promise((resolve, reject) => {
      browser.on('Target.receivedMessageFromTarget', ({ sessionId: from, message }) => {
        if (from === sessionId && (JSON.parse(message) as { id?: number }).id === id) resolve(message);
      });
      const message = JSON.stringify({ id, method });
      browser.send('Target.sendMessageToTarget', { sessionId, message }).catch(reject);
    });
  // What a finalizer frees is collected the next time.
  for (let id = 1; id <= 3; id++) await ask(id, 'HeapProfiler.collectGarbage');
  const usage = JSON.parse(await ask(4, 'Runtime.getHeapUsage')) as { result: { usedSize: number } };
  return usage.result.usedSize;
}
