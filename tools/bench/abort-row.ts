import { EngineTap } from './engine-tap.ts';
import type { Row } from './row.ts';
import type { Stage } from './stage.ts';

/** How long the prompt has been computed when it is aborted, in milliseconds. */
const UNDER_WAY_MS = 3_000;

export async function abort({ page, rounds }: Stage): Promise<Row> {
  await page.evaluate(() => window.bench.calls.engineThreads());
  const tap = await EngineTap.install(page);
  const values: number[] = [];
  for (let round = 0; round < rounds; round++) {
    await page.evaluate((salt) => window.bench.calls.beginLongPrompt(salt), `q${round}`);
    await new Promise((resolve) => setTimeout(resolve, UNDER_WAY_MS));
    const aborted = await page.evaluate(() => window.bench.calls.abort());
    values.push((await tap.until(['closed'], aborted)).at - aborted);
  }
  return {
    name: 'an abort in the prefill of 1,500 tokens: until the engine is free',
    unit: 'ms',
    values,
    goal: { atMost: 2000 },
  };
}
