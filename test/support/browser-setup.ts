import { build } from 'vite';
import type { TestProject } from 'vitest/node';

import { pullWeights } from '../../src/node/pull-command.ts';
import { findBrowser } from './find-browser.ts';
import { StaticSite } from './static-site.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Origin of the built site, without a slash at the end. `/test-page.html` has the library alone. */
    siteUrl: string;
  }
}

/** Once for all browser tests: a browser, the weights, the built site, and a server for it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  process.env['LOCALTEXT_CHROMIUM'] = findBrowser();
  await pullWeights([], 'public/models', new AbortController().signal);
  await build({ mode: 'browser-tests', logLevel: 'warn' });
  const site = await StaticSite.start();
  project.provide('siteUrl', site.url);
  return async () => site.stop();
}
