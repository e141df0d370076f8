// The long run of test/chaos: node scripts/test-chaos.mjs [rounds] [seed]
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const [rounds = '200', seed = '1'] = process.argv.slice(2);
const vitest = join('node_modules', '.bin', 'vitest');
const { status } = spawnSync(vitest, ['run', '--project', 'nightly', 'test/chaos'], {
  stdio: 'inherit',
  shell: process.platform === 'win32',
  env: { ...process.env, LOCALTEXT_CHAOS_ROUNDS: rounds, LOCALTEXT_CHAOS_SEED: seed },
});
process.exit(status ?? 1);
