import type { Page } from 'playwright';

import type { SiteOfTabs } from './site-of-tabs.ts';

export const unregisterAll = (page: Page): Promise<void> =>
  page.evaluate(async () => {
    for (const registration of await navigator.serviceWorker.getRegistrations())
      await registration.unregister();
  });

/**
 * As on a first visit: no service worker, not even one that goes once its last page has gone. Registering meanwhile
 * would bring that one back.
 */
export async function forgetServiceWorkers({ context, open }: SiteOfTabs): Promise<void> {
  const { page } = await open({ start: 'none' });
  await unregisterAll(page);
  for (const each of context.pages().slice(1)) await each.close();
  // Nothing in a page or in the protocol tells when the browser has let go of it.
  await new Promise((resolve) => setTimeout(resolve, 2000));
}
