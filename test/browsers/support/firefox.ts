import { launch, type Page } from 'puppeteer-core';

import { SCRIPT_TIMEOUT_MS, type Browser, type LaunchOptions, type Tab } from './driver.ts';
import { findProgram } from './find-program.ts';

/** Milliseconds without an event after which a service worker stops, with `stopsIdleWorkers`. */
const IDLE_MS = 2000;

/** Firefox over WebDriver BiDi, which needs no separate driver. */
export async function launchFirefox({
  isPrivate = false,
  stopsIdleWorkers = false,
  altersCanvases = false,
  preferences = {},
}: LaunchOptions & { preferences?: Record<string, boolean> } = {}): Promise<Browser> {
  const browser = await launch({
    browser: 'firefox',
    executablePath: findProgram('firefox'),
    headless: true,
    protocolTimeout: SCRIPT_TIMEOUT_MS,
    extraPrefsFirefox: {
      'browser.privatebrowsing.autostart': isPrivate,
      ...preferences,
      'privacy.resistFingerprinting': altersCanvases,
      ...(stopsIdleWorkers && {
        'dom.serviceWorkers.idle_timeout': IDLE_MS,
        'dom.serviceWorkers.idle_extended_timeout': IDLE_MS,
      }),
    },
  });
  return {
    async open(url) {
      const page = await browser.newPage();
      await page.goto(url);
      return asTab(page);
    },
    stopServiceWorker: () => new Promise((resolve) => setTimeout(resolve, 3 * IDLE_MS)),
    close: () => browser.close(),
  };
}

function asTab(page: Page): Tab {
  return {
    goto: async (url) => void (await page.goto(url)),
    reload: async () => void (await page.reload()),
    evaluate: (run, argument) => page.evaluate(run as never, argument as never) as never,
    press: (key) => page.keyboard.press(key),
    resize: (width, height) => page.setViewport({ width, height }),
    screenshot: () => page.screenshot(),
    close: () => page.close(),
  };
}
