// The long runs of test/chaos: node scripts/test-chaos.mjs chaos [--rounds 200] [--seed 1], or soak [--minutes 30] [--seed 1]
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '200' },
    minutes: { type: 'string', default: '30' },
    seed: { type: 'string', default: '1' },
  },
});
const [name] = positionals;
if (name !== 'chaos' && name !== 'soak') throw new Error('name a run: chaos or soak');
const vitest = join('node_modules', '.bin', 'vitest');
const { status } = spawnSync(vitest, ['run', '--project', 'nightly', `test/chaos/${name}.test.ts`], {
  stdio: 'inherit',
  shell: process.platform === 'win32',
  env: {
    ...process.env,
    LOCALTEXT_CHAOS_ROUNDS: values.rounds,
    LOCALTEXT_SOAK_MINUTES: values.minutes,
    LOCALTEXT_CHAOS_SEED: values.seed,
  },
});
process.exit(status ?? 1);
