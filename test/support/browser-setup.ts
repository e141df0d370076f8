import { build } from 'vite';
import type { TestProject } from 'vitest/node';

import { pullTestWeights } from './pull-test-weights.ts';
import { findBrowser } from './find-browser.ts';
import { StaticSite } from './static-site.ts';
import { removeFolder, removeLeftFolders, tempFolder } from './temp-folder.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Origin of the built site, without a slash at the end. `/test-page.html` has the library alone. */
    siteUrl: string;
    /** Folder for profiles that tests share: `launchWithWeights()` makes them. */
    profiles: string;
  }
}

interface Shared {
  site: StaticSite;
  profiles: string;
}

/** Projects of one run share the build, its server, and with it the origin that profiles are for. */
const shared = globalThis as { localtextSite?: Promise<Shared> };

/** Sets up what all tests of a run share: a browser, the weights, the built site, and a server for it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  shared.localtextSite ??= begin();
  const { site, profiles } = await shared.localtextSite;
  project.provide('siteUrl', site.url);
  project.provide('profiles', profiles);
  // All projects end at the end of the run.
  return async () => {
    await removeFolder(profiles);
    await site.stop();
  };
}

async function begin(): Promise<Shared> {
  await removeLeftFolders();
  process.env['LOCALTEXT_CHROMIUM'] = findBrowser();
  await pullTestWeights();
  await build({ mode: 'browser-tests', logLevel: 'warn' });
  return { site: await StaticSite.start(), profiles: await tempFolder('weights') };
}
