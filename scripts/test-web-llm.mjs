// A real run of the web-llm adapter on any MLC model: npm run test:web-llm -- --model <url> --lib <url>
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { values } = parseArgs({ options: { model: { type: 'string' }, lib: { type: 'string' } } });

if (!values.model || !values.lib) {
  console.log(`NOT RUN: no model was given, so nothing was tested here.

  npm run test:web-llm -- --model <URL of a folder with mlc-chat-config.json> --lib <URL of its WASM library>

Both are fetched by a page: their server must allow other origins (CORS). In web-llm's own list of models,
--model is "model" followed by /resolve/main/, and --lib is "model_lib".`);
  process.exit(0);
}

const { status } = spawnSync(
  join('node_modules', '.bin', 'vitest'),
  ['run', '--config', 'test/web-llm/vitest.config.ts'],
  {
    stdio: 'inherit',
    shell: process.platform === 'win32',
    env: { ...process.env, MLC_MODEL: values.model, MLC_LIBRARY: values.lib },
  },
);
process.exit(status ?? 1);
