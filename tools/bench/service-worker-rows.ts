import { stopServiceWorker } from '../../test/support/service-worker-control.ts';
import { differences, type Row } from './row.ts';
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
    measures: 'The smallest request, by the SDK, until its body is read: the cost of every request.',
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
  return {
    name: 'GET /v1/models, service worker stopped',
    measures: 'The same, after the browser has stopped the service worker: it starts, and answers.',
    unit: 'ms',
    values,
    goal: { atMost: 18 },
  };
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
  return {
    name: "first token from a stopped service worker − the raw engine's",
    measures:
      'The same as the first token above, with the service worker stopped before each call through /v1.',
    unit: 'ms',
    values: differences(measured.ours, measured.raw),
    goal: { atMost: 30 },
    detail: { 'raw, ms': measured.raw, 'ours, ms': measured.ours },
  };
}
