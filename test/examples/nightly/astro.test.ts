import { test } from 'vitest';

import { browserOfFile } from '../../support/browser-of-file.ts';
import { freePort } from '../../support/static-site.ts';
import { askBehindNginx } from '../support/frameworks.ts';

const browser = browserOfFile();

// Every night: it builds with Vite, as the SvelteKit example of every run does.
test('astro, below a path of nginx', { timeout: 480_000 }, async () =>
  askBehindNginx(browser.context, 'astro', 'dist', await freePort()),
);
