// The long runs of test/chaos: node scripts/test-chaos.mjs chaos [--rounds 200] [--seed 1], or soak [--minutes 30] [--seed 1]
import { parseArgs } from 'node:util';

import { runVitest } from './lib/run-vitest.mjs';

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
runVitest(['--project', 'nightly', `test/chaos/${name}.test.ts`], {
  LOCALTEXT_CHAOS_ROUNDS: values.rounds,
  LOCALTEXT_SOAK_MINUTES: values.minutes,
  LOCALTEXT_CHAOS_SEED: values.seed,
});
