import { expect, test } from 'vitest';

import { BoundedTemplate } from '../../src/engines/prompt/bounded-template.ts';
import { cpuTime } from '../support/cpu-time.ts';
import { hostileTemplate } from './hostile-template.ts';

const templates = Number(process.env['LOCALTEXT_FUZZ_TEMPLATES'] ?? 300);
const seed = Number(process.env['LOCALTEXT_FUZZ_SEED'] ?? 1);

/** The engine ends a worker whose template takes longer. */
const MAX_MS = 10_000;
const messages = [{ role: 'user', content: 'Hello' }];

test(
  `a template ends, whatever it does (${templates}, seed ${seed})`,
  { timeout: 60_000 + templates * 500 },
  async () => {
    const counts = { rendered: 0, refused: 0 };
    let slowest = { ms: 0, index: -1 };
    for (let index = 0; index < templates; index++) {
      const source = hostileTemplate(seed, index);
      const ms = await cpuTime(() => {
        try {
          new BoundedTemplate(source).render({ messages });
          counts.rendered++;
        } catch (error) {
          counts.refused++;
          if (!(error instanceof Error)) throw error;
        }
      });
      if (ms > slowest.ms) slowest = { ms, index };
    }
    console.log(`${templates} templates, seed ${seed}: ${JSON.stringify({ ...counts, slowest })}`);
    expect(slowest.ms, `template ${slowest.index} of seed ${seed}`).toBeLessThan(MAX_MS);
    // Otherwise the templates are not what they are to be.
    expect(Math.min(counts.rendered, counts.refused)).toBeGreaterThan(0);
  },
);
