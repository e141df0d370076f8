import { ratio, type Row } from './row.ts';
import type { Stage } from './stage.ts';

export async function besideLoad({ page, rounds, reload }: Stage): Promise<Row> {
  // An earlier visit, which stores the weights and the compiled code.
  await page.evaluate(async () => {
    await window.bench.calls.besideLoad();
    await window.bench.calls.embed(32);
  });
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
  return ratio(
    "a second model while one chats: the chat's decode speed during the load ÷ alone",
    { 'during, tokens/s': beside, 'alone, tokens/s': alone, 'the load, ms': load },
    { atLeast: 0.8 },
  );
}
