import { join } from 'node:path';

import { inject, test } from 'vitest';

import { browserOfFile } from '../../support/browser-of-file.ts';
import { freePort } from '../../support/static-site.ts';
import { askBehindNginx, chatAndEmbed } from '../support/frameworks.ts';
import { linkModels } from '../support/models.ts';
import { startServer } from '../support/vite-server.ts';

const browser = browserOfFile();

// Every night: it builds with Vite, as the SvelteKit example of every run does.
test('astro, below a path of nginx, and on its dev server', { timeout: 480_000 }, async () => {
  await askBehindNginx(browser.context, 'astro', 'dist', await freePort());
  const folder = join(inject('examples'), 'astro');
  await linkModels(join(folder, 'public'));
  const port = await freePort();
  const dev = ['../node_modules/astro/astro.js', 'dev', '--port', String(port)];
  const { url } = await startServer(folder, dev, `http://localhost:${port}/astro/`);
  await chatAndEmbed(browser.context, url);
});
