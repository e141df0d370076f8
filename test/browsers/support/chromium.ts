import type { BrowserContext, Page } from 'playwright';

import { stopServiceWorker } from '../../support/service-worker-control.ts';
import { launch } from '../../support/launch.ts';
import type { Browser, LaunchOptions, Tab } from './driver.ts';

export async function launchChromium({ isPrivate = false }: LaunchOptions = {}): Promise<Browser> {
  const persistent = await launch();
  const pages = new Map<Tab, Page>();
  let context: BrowserContext = persistent;
  if (isPrivate) context = (await persistent.browser()?.newContext()) ?? persistent;
  return {
    async open(url) {
      const page = await context.newPage();
      await page.goto(url);
      const tab = asTab(page);
      pages.set(tab, page);
      return tab;
    },
    async stopServiceWorker(tab) {
      const page = pages.get(tab);
      if (page) await stopServiceWorker(page);
    },
    close: () => persistent.close(),
  };
}

function asTab(page: Page): Tab {
  return {
    goto: async (url) => void (await page.goto(url)),
    reload: async () => void (await page.reload()),
    evaluate: (run, argument) => page.evaluate(run as never, argument),
    press: (key) => page.keyboard.press(key),
    resize: (width, height) => page.setViewportSize({ width, height }),
    screenshot: () => page.screenshot(),
    close: () => page.close(),
  };
}
