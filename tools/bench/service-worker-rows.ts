import { stopServiceWorker } from '../../test/support/service-worker-control.ts';
import { difference, inTurn, type Row } from './row.ts';
import type { Stage } from './stage.ts';

export async function modelsWarm({ page, rounds }: Stage): Promise<Row> {
  await page.evaluate(() => window.bench.calls.models());
  const { 'list, ms': values, ...detail } = await inTurn(rounds * 4, {
    'list, ms': () => page.evaluate(() => window.bench.calls.models()),
    'an empty answer of the service worker, ms': () => page.evaluate(() => window.bench.calls.emptyAnswer()),
  });
  return { name: 'GET /v1/models, warm', unit: 'ms', values, goal: { atMost: 4 }, detail };
}

export async function modelsStopped({ page, rounds }: Stage): Promise<Row> {
  await page.evaluate(() => window.bench.calls.models());
  const values: number[] = [];
  for (let i = 0; i < rounds * 2; i++) {
    await stopServiceWorker(page);
    values.push(await page.evaluate(() => window.bench.calls.models()));
  }
  return { name: 'GET /v1/models, service worker stopped', unit: 'ms', values, goal: { atMost: 18 } };
}

export async function firstTokenStopped({ page, rounds }: Stage): Promise<Row> {
  const figures = await inTurn(
    rounds * 2,
    {
      'ours, ms': async (round) => {
        // Its prompt is in the cache then, as it is in the raw engine's.
        if (round < 0) await page.evaluate(() => window.bench.calls.firstTokenOurs());
        await stopServiceWorker(page);
        return page.evaluate(() => window.bench.calls.firstTokenOurs());
      },
      'raw, ms': () => page.evaluate(() => window.bench.calls.firstTokenRaw()),
    },
    true,
  );
  return difference("first token from a stopped service worker − the raw engine's", figures, { atMost: 30 });
}
