import type { BrowserContext } from 'playwright';

/** Ends the process that every GPU device of this browser lives in. */
export async function crashGpu(context: BrowserContext): Promise<void> {
  const session = await context.browser()?.newBrowserCDPSession();
  // The process may end before it answers.
  await session?.send('Browser.crashGpuProcess').catch(() => undefined);
  await session?.detach().catch(() => undefined);
}
