import { expect, test } from 'vitest';

import { ServiceError } from '../../src/errors/service-error.ts';
import { compileSchema } from '../../src/grammar/compile-schema.ts';
import { Random } from '../chaos/random.ts';
import { cpuTime } from '../support/cpu-time.ts';
import { hostilePattern, hostileSchema } from './hostile-schemas.ts';

const schemas = Number(process.env['LOCALTEXT_FUZZ_SCHEMAS'] ?? 100);
const seed = Number(process.env['LOCALTEXT_FUZZ_SEED'] ?? 1);

/** The engine worker does nothing else meanwhile. Those at the bounds take some 0.5 s, 1.5 s on a busy machine. */
const MAX_MS = 5000;

function compiled(schema: Record<string, unknown>): 'compiled' | 'refused' {
  try {
    compileSchema({ kind: 'json_schema', schema });
    return 'compiled';
  } catch (error) {
    if (error instanceof ServiceError && error.wire.status === 400) return 'refused';
    throw error;
  }
}

test(
  `a schema becomes a grammar soon, or is refused (${schemas}, seed ${seed})`,
  { timeout: 60_000 + schemas * 2000 },
  async () => {
    const counts = { compiled: 0, refused: 0 };
    let slowest = { ms: 0, index: -1 };
    for (let index = 0; index < schemas; index++) {
      const random = new Random(seed * 3_000_003 + index);
      const schema =
        index % 2 === 0 ? { type: 'string', pattern: hostilePattern(random) } : hostileSchema(random);
      const ms = await cpuTime(() => void counts[compiled(schema)]++);
      if (ms > slowest.ms) slowest = { ms, index };
    }
    console.log(`${schemas} schemas, seed ${seed}: ${JSON.stringify({ ...counts, slowest })}`);
    expect(slowest.ms, `schema ${slowest.index} of seed ${seed}`).toBeLessThan(MAX_MS);
    // Otherwise the schemas are not what they are to be.
    expect(Math.min(counts.compiled, counts.refused)).toBeGreaterThan(0);
  },
);
