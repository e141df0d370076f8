// The long run of test/fuzz: `npm run test:fuzz -- --requests 100 --seed 2`. `--only <index>` sends one request of it, `--kind decision`
// those of one kind.
import { parseArgs } from 'node:util';

import { runVitest } from './lib/run-vitest.mjs';

/** Defaults; each is a variable of the tests, `LOCALTEXT_FUZZ_REQUESTS` and so on. */
const AMOUNTS = {
  requests: '20000',
  answers: '2000',
  bodies: '2000',
  endings: '2000',
  forms: '2000',
  parts: '2000',
  // Three kinds share them.
  files: '15000',
  models: '1000',
  images: '5000',
  pictures: '1000',
  schemas: '2000',
  templates: '2000',
  sounds: '5000',
  seed: '1',
};

const option = (fallback) => ({ type: 'string', ...(fallback && { default: fallback }) });
const amounts = Object.entries(AMOUNTS).map(([name, amount]) => [name, option(amount)]);
const { values } = parseArgs({
  options: { ...Object.fromEntries(amounts), only: option(), kind: option() },
});
const projects = ['unit-isolated', 'timed', 'nightly'].flatMap((name) => ['--project', name]);
const variables = Object.entries(values).map(([name, value]) => [
  `LOCALTEXT_FUZZ_${name.toUpperCase()}`,
  value,
]);
runVitest([...projects, values.kind === undefined ? 'test/fuzz' : 'test/fuzz/fuzz.test.ts'], {
  ...Object.fromEntries(variables),
  LOCALTEXT_FUZZ_MAX_WAIT_MS: '1000',
});
