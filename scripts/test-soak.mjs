// The long run of test/soak: node scripts/test-soak.mjs [--minutes 30] [--seed 1]
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '30' }, seed: { type: 'string', default: '1' } },
});
const vitest = join('node_modules', '.bin', 'vitest');
const { status } = spawnSync(vitest, ['run', '--project', 'nightly', 'test/soak'], {
  stdio: 'inherit',
  shell: process.platform === 'win32',
  env: { ...process.env, LOCALTEXT_SOAK_MINUTES: values.minutes, LOCALTEXT_SOAK_SEED: values.seed },
});
process.exit(status ?? 1);
