// A real run of the web-llm adapter on any MLC model: npm run test:web-llm -- --model <url> --lib <url>
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runnerImport } from 'vite';

const { module } = await runnerImport('/test/support/mlc-model.ts', { configFile: false, logLevel: 'warn' });
const { mlcListed, mlcOptions, mlcUrls } = module;

const { values } = parseArgs({ options: { model: { type: 'string' }, lib: { type: 'string' } } });
let urls = null;
try {
  urls = mlcUrls(values.model, values.lib);
} catch (error) {
  console.error(error.message);
  process.exit(1);
}

if (urls === null) {
  console.log(`NOT RUN: no model was given, so nothing was tested here.

  npm run test:web-llm -- ${mlcOptions()}

Both are fetched by a page: their server must allow other origins (CORS). ${mlcListed()}`);
  process.exit(0);
}

const { status } = spawnSync(
  join('node_modules', '.bin', 'vitest'),
  ['run', '--config', 'test/web-llm/vitest.config.ts'],
  {
    stdio: 'inherit',
    shell: process.platform === 'win32',
    env: { ...process.env, MLC_MODEL: urls.model, MLC_LIBRARY: urls.library },
  },
);
process.exit(status ?? 1);
