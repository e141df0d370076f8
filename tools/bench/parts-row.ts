import { EngineTap } from './engine-tap.ts';
import type { Row } from './row.ts';
import type { Stage } from './stage.ts';

/** Measures the parts of the time to a first token. */
export async function firstTokenParts({ page, rounds }: Stage): Promise<Row> {
  await page.evaluate(() => window.bench.calls.engineThreads());
  await page.evaluate(() => window.bench.calls.chatTimes());
  const tap = await EngineTap.install(page);
  const parts = {
    'SDK and service worker, until the engine has the request, ms': [] as number[],
    'until llama.cpp has the prompt (the rest of the checks, the template), ms': [] as number[],
    'llama.cpp, ms': [] as number[],
    'back, until the SDK hands the token out, ms': [] as number[],
  };
  const [there, asked, model, back] = Object.values(parts);
  const values: number[] = [];
  for (let i = 0; i < rounds * 4; i++) {
    await tap.take();
    const { began, first } = await page.evaluate(() => window.bench.calls.chatTimes());
    const sent = await tap.take();
    const at = (what: string): number =>
      sent.find((each) => each.what === what && each.at >= began)?.at ?? Number.NaN;
    const [connected, engine, delta] = [at('connected'), at('engine'), at('delta')];
    there?.push(connected - began);
    asked?.push(engine - connected);
    model?.push(delta - engine);
    back?.push(first - delta);
    values.push(first - began - (delta - engine));
  }
  return {
    name: 'first token through /v1: the time outside llama.cpp',
    unit: 'ms',
    values,
    goal: { atMost: 6 },
    detail: parts,
  };
}
