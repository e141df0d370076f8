import type { BrowserContext } from 'playwright';
import { beforeAll, inject } from 'vitest';

import type { StartOptions } from '../../src/index.ts';
import type { LaunchOptions } from './launch.ts';
import { openPage, type StartedPage } from './open-page.ts';
import { launchWithWeights } from './stored-weights.ts';

interface Shared extends StartedPage {
  context: BrowserContext;
}

/** The test page in a browser with stored weights, for the tests of a file. @param model loaded before them */
export function sharedPage(options: StartOptions = {}, model?: string, launch: LaunchOptions = {}): Shared {
  const shared = {} as Shared;
  beforeAll(async () => {
    shared.context = await launchWithWeights(launch);
    Object.assign(shared, await openPage(shared.context, inject('siteUrl'), options));
    if (model !== undefined)
      await shared.page.evaluate(async (id) => (await window.localtext).ready(id), model);
  });
  return shared;
}
