import { cp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { inject, onTestFinished, test } from 'vitest';

import { browserOfFile } from '../../support/browser-of-file.ts';
import { freePort } from '../../support/static-site.ts';
import { tempFolder } from '../../support/temp-folder.ts';
import { chatAndEmbed } from '../support/frameworks.ts';
import { linkModels } from '../support/models.ts';
import { startNginx } from '../support/nginx.ts';
import { run } from '../support/workspace.ts';

const PACKAGES = ['@rspack/core@2.3.2', '@rspack/cli@2.2.8'];
const browser = browserOfFile();

// Every night: webpack builds the same in every run.
test('Rspack builds the webpack example with its settings', { timeout: 480_000 }, async () => {
  const [folder, rspack] = [join(inject('examples'), 'rspack'), await tempFolder('rspack')];
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  onTestFinished(() => rm(rspack, { recursive: true, force: true }));
  await run(rspack, 'npm', 'install', '--no-audit', '--no-fund', '--loglevel', 'error', ...PACKAGES);
  await cp('examples/webpack', folder, {
    recursive: true,
    filter: (path) => !/[\\/](models|built)$/.test(path),
  });
  await rename(join(folder, 'webpack.config.js'), join(folder, 'rspack.config.js'));
  await run(folder, 'npx', 'localtext', 'init', 'public');
  await run(folder, join(rspack, 'node_modules/.bin/rspack'), 'build');
  const site = join(folder, 'public');
  await linkModels(site);
  const server = await startNginx({ '/rspack/': site }, await freePort());
  await chatAndEmbed(browser.context, `${server.url}/rspack/`);
});
