import { expect, test } from 'vitest';

import { checkJsonSchema } from '../../src/grammar/check-schema.ts';
import { ServiceError } from '../../src/base/errors/service-error.ts';
import { compileSchema } from '../../src/grammar/compile-schema.ts';
import { Random } from '../chaos/random.ts';
import { cpuTime } from '../support/cpu-time.ts';
import { hostilePattern, hostileSchema } from './hostile-schemas.ts';
import { seed } from './seed.ts';

const schemas = Number(process.env['LOCALTEXT_FUZZ_SCHEMAS'] ?? 60);

/** The engine worker does nothing else meanwhile. Those at the bounds take some 0.7 s of a processor. */
const MAX_MS = 2000;
/** The service worker answers no other tab meanwhile. */
const MAX_CHECK_MS = 1000;

function judged(run: () => unknown): 'taken' | 'refused' {
  try {
    run();
    return 'taken';
  } catch (error) {
    if (error instanceof ServiceError && error.wire.status === 400) return 'refused';
    throw error;
  }
}

function schemaOf(index: number): Record<string, unknown> {
  const random = new Random(seed * 3_000_003 + index);
  return index % 2 === 0 ? { type: 'string', pattern: hostilePattern(random) } : hostileSchema(random);
}

/** @param run with a schema and its index */
async function judgeAll(run: (schema: Record<string, unknown>, index: number) => unknown): Promise<number> {
  const counts = { taken: 0, refused: 0 };
  let slowest = { ms: 0, index: -1 };
  for (let index = 0; index < schemas; index++) {
    const schema = schemaOf(index);
    const ms = await cpuTime(() => void counts[judged(() => run(schema, index))]++);
    if (ms > slowest.ms) slowest = { ms, index };
  }
  console.log(`${schemas} schemas, seed ${seed}: ${JSON.stringify({ ...counts, slowest })}`);
  // Otherwise the schemas are not what they are to be.
  expect(Math.min(counts.taken, counts.refused)).toBeGreaterThan(0);
  return slowest.ms;
}

test(
  `a schema becomes a grammar soon, or is refused (${schemas}, seed ${seed})`,
  { timeout: 60_000 + schemas * 2000 },
  async () => {
    const ms = await judgeAll((schema) => compileSchema(JSON.stringify(schema)));
    expect(ms).toBeLessThan(MAX_MS);
  },
);

test(
  `a schema is checked soon (${schemas}, seed ${seed})`,
  { timeout: 60_000 + schemas * 1000 },
  async () => {
    const ms = await judgeAll((schema, index) => checkJsonSchema(schema, 'schema', index % 4 > 1));
    expect(ms).toBeLessThan(MAX_CHECK_MS);
  },
);
