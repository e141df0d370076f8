import type { Page } from 'playwright';

export const unregisterAll = (page: Page): Promise<void> =>
  page.evaluate(async () => {
    for (const registration of await navigator.serviceWorker.getRegistrations())
      await registration.unregister();
  });
