import type { BrowserContext } from 'playwright';
import { beforeAll } from 'vitest';

import { launch, type LaunchOptions } from './launch.ts';

/** One Chromium for all tests of a file. */
export function browserOfFile(options?: LaunchOptions): { readonly context: BrowserContext } {
  const browser = {} as { context: BrowserContext };
  beforeAll(async () => {
    browser.context = await launch(options);
  });
  return browser;
}
