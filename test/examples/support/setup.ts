import type { TestProject } from 'vitest/node';

import { pullWeights } from '../../../src/node/cli/pull-command.ts';
import { findBrowser } from '../../support/find-browser.ts';
import { allExamples, beginInstall, FOLDER, installExamples, packTarball, tarballPath } from './workspace.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Path of the package as it would be published. */
    tarball: string;
    /** Folder with the examples, installed. */
    examples: string;
  }
}

/** The package is made and installed while the tests before these run: `installed.ts` waits for it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  process.env['LOCALTEXT_CHROMIUM'] = findBrowser();
  // No test may depend on a network.
  for (const name of ['NEXT', 'ASTRO']) process.env[`${name}_TELEMETRY_DISABLED`] = '1';
  await pullWeights([], 'public/models', new AbortController().signal);
  project.provide('tarball', await tarballPath());
  project.provide('examples', FOLDER);
  const end = await beginInstall();
  const installing = packTarball()
    .then(async () => installExamples(await allExamples()))
    .then(
      () => end(''),
      (error: unknown) => end(String(error)),
    );
  return () => installing;
}
