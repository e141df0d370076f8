import { cp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { inject, onTestFinished } from 'vitest';

import { freePort } from '../../support/static-site.ts';
import { linkModels } from './models.ts';
import { startVite } from './vite-server.ts';
import { run } from './workspace.ts';

/** A copy of the Workbox example, so that another test's build stays as it is. */
export async function workboxVariant(
  name: string,
  worker?: string,
  config?: string,
): Promise<{ folder: string; url: string; stop: () => Promise<void> }> {
  const folder = join(inject('examples'), name);
  const remove = () => rm(folder, { recursive: true, force: true });
  // A run that was killed leaves its copy.
  await remove();
  onTestFinished(remove);
  await cp('examples/workbox-site', folder, {
    recursive: true,
    filter: (path) => !/[\\/](node_modules|dist|models)$/.test(path),
  });
  if (worker !== undefined) await writeFile(join(folder, 'src/sw.js'), worker);
  if (config !== undefined) await writeFile(join(folder, 'vite.config.js'), config);
  await run(folder, process.execPath, '../node_modules/vite/bin/vite.js', 'build', '--logLevel', 'warn');
  await linkModels(join(folder, 'public'));
  const server = await startVite(folder, 'preview', await freePort());
  return { folder, url: server.url, stop: () => server.stop() };
}
