import { join } from 'node:path';

import { inject, test } from 'vitest';

import { browserOfFile } from '../support/browser-of-file.ts';
import { freePort } from '../support/static-site.ts';
import { askBehindNginx, chatAndEmbed } from './support/frameworks.ts';
import { linkModels } from './support/models.ts';
import { startVite } from './support/vite-server.ts';
import { run } from './support/workspace.ts';

/** Other bundlers and frameworks, with no setting for the engines, behind nginx and its own table of MIME types. */

const browser = browserOfFile();
/** One origin, so that the weights are downloaded once. */
const port = await freePort();

test.each([
  ['webpack', 'public'],
  ['next', 'out'],
])('%s, below a path of nginx', { timeout: 480_000 }, (name, output) =>
  askBehindNginx(browser.context, name, output, port),
);

test('sveltekit, on its own preview server', async () => {
  const folder = join(inject('examples'), 'sveltekit');
  await run(folder, 'npm', 'run', 'build');
  await linkModels(join(folder, 'static'));
  const server = await startVite(folder, 'preview', port);
  await chatAndEmbed(browser.context, server.url);
});
