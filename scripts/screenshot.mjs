// Writes docs/screenshots: the playground with a reply of the real model, in light and dark.
import { runnerImport } from 'vite';

const { module } = await runnerImport('/test/support/screenshot.ts', { configFile: false, logLevel: 'warn' });
await module.takeScreenshots('docs/screenshots');
process.exit(0);
