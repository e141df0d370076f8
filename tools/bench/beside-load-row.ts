import { quotients, type Row } from './row.ts';
import type { Stage } from './stage.ts';

export async function besideLoad({ page, rounds, reload }: Stage): Promise<Row> {
  // Stores the weights.
  await page.evaluate(() => window.bench.calls.besideLoad());
  const alone: number[] = [];
  const beside: number[] = [];
  const load: number[] = [];
  for (let round = 0; round < rounds; round++) {
    await reload();
    const measured = await page.evaluate(() => window.bench.calls.besideLoad());
    alone.push(measured.alone);
    beside.push(measured.beside);
    load.push(measured.loadMs);
  }
  return {
    name: "a second model while one chats: the chat's decode speed during the load ÷ alone",
    measures:
      'Tokens a second of one stream, alone, and from the call of ready() for the embedding model until it is loaded from the stored weights, in a reloaded page.',
    unit: 'ratio',
    values: quotients(beside, alone),
    goal: { atLeast: 0.8 },
    detail: { 'alone, tokens/s': alone, 'during, tokens/s': beside, 'the load, ms': load },
  };
}
