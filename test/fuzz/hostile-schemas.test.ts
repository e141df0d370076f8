import { expect, test } from 'vitest';

import { checkJsonSchema } from '../../src/grammar/check-schema.ts';
import { ServiceError } from '../../src/base/errors/service-error.ts';
import { compileSchema } from '../../src/grammar/compile-schema.ts';
import { Random } from '../chaos/random.ts';
import { stepsOf } from '../support/steps-of.ts';
import { hostilePattern, hostileSchema } from './hostile-schemas.ts';
import { seed } from './seed.ts';

const schemas = Number(process.env['LOCALTEXT_FUZZ_SCHEMAS'] ?? 60);

/** The engine worker does nothing else meanwhile. */
const MAX_STEPS = 50e6;
/** The service worker answers no other tab meanwhile. */
const MAX_CHECK_STEPS = 1e6;

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
  let most = { steps: 0, index: -1 };
  for (let index = 0; index < schemas; index++) {
    const schema = schemaOf(index);
    const steps = await stepsOf(() => void counts[judged(() => run(schema, index))]++);
    if (steps > most.steps) most = { steps, index };
  }
  console.log(`${schemas} schemas, seed ${seed}: ${JSON.stringify({ ...counts, most })}`);
  // Otherwise the schemas are not what they are to be.
  expect(Math.min(counts.taken, counts.refused)).toBeGreaterThan(0);
  return most.steps;
}

test(
  `a schema becomes a grammar soon, or is refused (${schemas}, seed ${seed})`,
  { timeout: 60_000 + schemas * 2000 },
  async () => {
    expect(await judgeAll((schema) => compileSchema(JSON.stringify(schema)))).toBeLessThan(MAX_STEPS);
  },
);

test(`a check ends soon (${schemas}, seed ${seed})`, { timeout: 60_000 + schemas * 1000 }, async () => {
  const steps = await judgeAll((schema, index) => checkJsonSchema(schema, 'schema', index % 4 > 1));
  expect(steps).toBeLessThan(MAX_CHECK_STEPS);
});
