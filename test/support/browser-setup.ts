import { build } from 'vite';
import type { TestProject } from 'vitest/node';

import { pullTestWeights } from './pull-test-weights.ts';
import { findBrowser } from './find-browser.ts';
import { StaticSite } from './static-site.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Origin of the built site, without a slash at the end. `/test-page.html` has the library alone. */
    siteUrl: string;
  }
}

/** Projects of one run share the build. */
const shared = globalThis as { localtextSite?: Promise<unknown> };

/** Once for all tests of a project: a browser, the weights, the built site, and a server for it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  process.env['LOCALTEXT_CHROMIUM'] = findBrowser();
  await pullTestWeights();
  shared.localtextSite ??= build({ mode: 'browser-tests', logLevel: 'warn' });
  await shared.localtextSite;
  const site = await StaticSite.start();
  project.provide('siteUrl', site.url);
  return async () => site.stop();
}
