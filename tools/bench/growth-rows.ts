import { EngineTap, type Sent } from './engine-tap.ts';
import { growthRow } from './growth.ts';
import { summarize, type Row } from './row.ts';
import type { Stage } from './stage.ts';

const points = (sizes: number[]) => sizes.map((x) => ({ x, values: [] as number[] }));

/** Number of measurements of a short time whose median is one value. */
const REPEATED = 3;

/** Messages of a conversation: what is ours of the way to the model. */
export async function messages({ page, rounds }: Stage): Promise<Row> {
  await page.evaluate(() => window.bench.calls.engineThreads());
  const tap = await EngineTap.install(page);
  const series = points([1, 4, 16, 63, 251, 999]);
  for (let round = 0; round < rounds; round++)
    for (const { x, values } of series) {
      const times: number[] = [];
      for (let i = 0; i < REPEATED; i++) {
        const began = await page.evaluate((count) => window.bench.calls.beginChat(count), x);
        const { at } = await tap.until(['engine'], began);
        await page.evaluate(() => window.bench.calls.abort());
        // A short one may have been answered before the abort came through.
        await tap.until(['closed', 'done', 'error'], began);
        times.push(at - began);
      }
      values.push(summarize(times).median);
    }
  return growthRow('growth: messages of a conversation, 1 to 999', series);
}

const MAX_INPUTS = 2048;

/** Texts of one request: all that is not the model. */
export async function inputs({ page, rounds }: Stage): Promise<Row[]> {
  await page.evaluate(() => window.bench.calls.embed(8));
  const tap = await EngineTap.install(page);
  const series = points([1, 8, 64, 512, MAX_INPUTS]);
  const shares: number[] = [];
  const totals: number[] = [];
  const outsides: number[] = [];
  for (let round = 0; round < rounds; round++)
    for (const { x, values } of series) {
      const times: number[] = [];
      let total = 0;
      for (let i = 0; i < (x < MAX_INPUTS ? REPEATED : 1); i++) {
        await tap.take();
        total = await page.evaluate((count) => window.bench.calls.embed(count), x);
        times.push(total - computed(await tap.take()));
      }
      const outside = summarize(times).median;
      values.push(outside);
      if (x < MAX_INPUTS) continue;
      totals.push(total);
      outsides.push(outside);
      shares.push(outside / total);
    }
  return [
    {
      name: '2,048 short inputs as base64: share of the time outside the model',
      unit: 'ratio',
      values: shares,
      goal: { atMost: 0.03 },
      detail: { 'all, ms': totals, 'outside the model, ms': outsides },
    },
    growthRow('growth: inputs of an embeddings request, 1 to 2,048', series),
  ];
}

const REQUESTS = 15;

/** Tabs of the site: what a request costs beside the model, while they are open. */
export async function tabs({ page, context, site, rounds }: Stage): Promise<Row> {
  for (let i = 0; i < REQUESTS; i++) await page.evaluate(() => window.bench.calls.embed(1));
  const tap = await EngineTap.install(page);
  const series = points([1, 2, 4, 8]);
  for (let round = 0; round < rounds; round++) {
    const others = [];
    for (const { x, values } of series) {
      for (let open = others.length + 1; open < x; open++) {
        const other = await context.newPage();
        others.push(other);
        await other.goto(`${site.url}/test-page.html`);
        await other.evaluate(() => window.localtext.then(() => undefined));
      }
      await page.bringToFront();
      const outsides: number[] = [];
      for (let i = 0; i < REQUESTS; i++) {
        await tap.take();
        const total = await page.evaluate(() => window.bench.calls.embed(1));
        outsides.push(total - computed(await tap.take()));
      }
      values.push(summarize(outsides).median);
    }
    for (const other of others) await other.close();
  }
  return growthRow('growth: tabs of the site, 1 to 8', series);
}

function computed(sent: Sent[]): number {
  const results = sent.flatMap(({ computeMs }) => (computeMs === undefined ? [] : [computeMs]));
  if (results.length !== 1) throw new Error(`the engine gave ${results.length} results to one request`);
  return results[0] ?? Number.NaN;
}
