// Writes docs/screenshots: the playground with a reply of the real model, in light and dark.
import { loadModule } from './lib/load-module.mjs';

const { takeScreenshots } = await loadModule('/test/support/screenshot.ts');
await takeScreenshots('docs/screenshots');
process.exit(0);
