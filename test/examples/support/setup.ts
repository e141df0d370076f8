import type { TestProject } from 'vitest/node';

import { pullWeights } from '../../../src/node/pull-command.ts';
import { findBrowser } from '../../support/find-browser.ts';
import { installExamples, packTarball } from './workspace.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Path of the package as it would be published. */
    tarball: string;
    /** Folder with the examples, installed. */
    examples: string;
  }
}

export default async function setup(project: TestProject): Promise<void> {
  process.env['LOCALTEXT_CHROMIUM'] = findBrowser();
  await pullWeights([], 'public/models', new AbortController().signal);
  const tarball = await packTarball();
  project.provide('tarball', tarball);
  project.provide('examples', await installExamples(tarball));
}
