import type { Page } from 'playwright';

import { launch } from '../../support/launch.ts';
import type { Browser, Tab } from './driver.ts';

export async function launchChromium(): Promise<Browser> {
  const context = await launch();
  return {
    async open(url) {
      const page = await context.newPage();
      await page.goto(url);
      return asTab(page);
    },
    close: () => context.close(),
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
