// A real run of the web-llm adapter on any MLC model: npm run test:web-llm -- --model <url> --lib <url>
import { parseArgs } from 'node:util';

import { loadModule } from './lib/load-module.mjs';
import { runVitest } from './lib/run-vitest.mjs';

const { mlcListed, mlcOptions, mlcUrls } = await loadModule('/test/support/mlc-model.ts');

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

runVitest(['--config', 'test/web-llm/vitest.config.ts'], {
  MLC_MODEL: urls.model,
  MLC_LIBRARY: urls.library,
});
