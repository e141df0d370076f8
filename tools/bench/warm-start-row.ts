import { EngineTap } from './engine-tap.ts';
import { inTurn, ratio, type Row } from './row.ts';
import type { Stage } from './stage.ts';

export async function warmStart({ page, rounds, reload }: Stage): Promise<Row> {
  // Stores the weights, and has the browser keep what it made of the WASM.
  const threads = await page.evaluate(() => window.bench.calls.engineThreads());
  const before: number[] = [];
  // Each in its own page: what the one before has loaded would slow the other down.
  const measureRaw = async (): Promise<number> => {
    await reload();
    return page.evaluate((count) => window.bench.calls.warmStartRaw(count), threads);
  };
  const measureOurs = async (round: number): Promise<number> => {
    await reload();
    await page.evaluate(() => window.bench.calls.start());
    const tap = await EngineTap.install(page);
    const { began, firstTokenMs } = await page.evaluate(() => window.bench.calls.warmStartOurs());
    if (round >= 0) before.push((await tap.until(['engine'], began)).at - began);
    return firstTokenMs;
  };
  const figures = await inTurn(rounds, { 'ours, ms': measureOurs, 'raw, ms': measureRaw }, true);
  return ratio(
    "warm start, stored weights to first token ÷ the raw engine's from a Blob",
    { ...figures, "ours until llama.cpp's worker is started, ms": before },
    { atMost: 1.05 },
  );
}
