import { stopServiceWorker } from '../../test/support/service-worker-control.ts';
import { difference, type Row } from './row.ts';
import type { Stage } from './stage.ts';

export async function modelsWarm({ page, rounds }: Stage): Promise<Row> {
  await page.evaluate(() => window.bench.calls.models());
  const values: number[] = [];
  const empty: number[] = [];
  for (let i = 0; i < rounds * 4; i++) {
    values.push(await page.evaluate(() => window.bench.calls.models()));
    empty.push(await page.evaluate(() => window.bench.calls.emptyAnswer()));
  }
  return {
    name: 'GET /v1/models, warm',
    unit: 'ms',
    values,
    goal: { atMost: 4 },
    detail: { 'an empty answer of the service worker, ms': empty },
  };
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
  const raw: number[] = [];
  const ours: number[] = [];
  for (let round = 0; round <= rounds * 2; round++) {
    raw.push(await page.evaluate(() => window.bench.calls.firstTokenRaw()));
    // Its prompt is in the cache then, as it is in the raw engine's.
    if (round === 0) await page.evaluate(() => window.bench.calls.firstTokenOurs());
    await stopServiceWorker(page);
    ours.push(await page.evaluate(() => window.bench.calls.firstTokenOurs()));
  }
  const measured = { raw: raw.slice(1), ours: ours.slice(1) };
  return difference(
    "first token from a stopped service worker − the raw engine's",
    { 'ours, ms': measured.ours },
    { 'raw, ms': measured.raw },
    { atMost: 30 },
  );
}
