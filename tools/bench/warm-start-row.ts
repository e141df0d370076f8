import { EngineTap } from './engine-tap.ts';
import { ratio, type Row } from './row.ts';
import type { Stage } from './stage.ts';

export async function warmStart({ page, rounds, reload }: Stage): Promise<Row> {
  // Stores the weights, and has the browser keep what it made of the WASM.
  const threads = await page.evaluate(() => window.bench.calls.engineThreads());
  const raw: number[] = [];
  const ours: number[] = [];
  const before: number[] = [];
  const measureRaw = async (): Promise<void> => {
    raw.push(await page.evaluate((count) => window.bench.calls.warmStartRaw(count), threads));
  };
  const measureOurs = async (): Promise<void> => {
    await page.evaluate(() => window.bench.calls.start());
    const tap = await EngineTap.install(page);
    const { began, firstTokenMs } = await page.evaluate(() => window.bench.calls.warmStartOurs());
    ours.push(firstTokenMs);
    before.push((await tap.until(['engine'], began)).at - began);
  };
  // Each in its own page: what the one before has loaded would slow the other down.
  for (let round = 0; round <= rounds; round++) {
    for (const measure of round % 2 === 0 ? [measureRaw, measureOurs] : [measureOurs, measureRaw]) {
      await reload();
      await measure();
    }
  }
  const measured = { raw: raw.slice(1), ours: ours.slice(1) };
  return ratio(
    "warm start, stored weights to first token ÷ the raw engine's from a Blob",
    { 'ours, ms': measured.ours },
    { 'raw, ms': measured.raw },
    { atMost: 1.05 },
    { "ours until llama.cpp's worker is started, ms": before.slice(1) },
  );
}
