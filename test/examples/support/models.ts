import { mkdir, rm, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';

import { onTestFinished } from 'vitest';

/**
 * Puts the weights into a folder that is served, until the test's end: a build copies all that lies in an example's
 * `public`, so that they come after it and are gone before the next test's.
 */
export async function linkModels(site: string): Promise<void> {
  const link = join(site, 'models');
  await mkdir(site, { recursive: true });
  await symlink(resolve('public/models'), link, 'junction');
  onTestFinished(() => rm(link));
}
