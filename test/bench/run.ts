import { mkdir, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { build } from 'vite';

import { pullWeights } from '../../src/node/pull-command.ts';
import { launch } from '../support/launch.ts';
import { stopServiceWorker } from '../support/service-worker-control.ts';
import { StaticSite } from '../support/static-site.ts';
import { pageLibraryBytes, serviceWorkerBytes } from './bytes.ts';
import { HEAD, line } from './report.ts';
import type { Row } from './row.ts';

/** `npm run bench [-- --row NAME …] [-- --rounds N]`: every row in one page and one run, ours beside the raw engine. */
export async function bench(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: { row: { type: 'string', multiple: true }, rounds: { type: 'string', default: '5' } },
  });
  const rounds = Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1)
    throw new RangeError(`--rounds takes a whole number from 1, not ${values.rounds}`);
  await pullWeights([], 'public/models', new AbortController().signal);
  console.log('Building the page…');
  await build({ mode: 'browser-tests', logLevel: 'warn' });
  const site = await StaticSite.start();
  const browser = await launch();
  try {
    const page = await browser.newPage();
    page.on('pageerror', (error) => console.error(`page error: ${error.message}`));
    await page.goto(`${site.url}/bench-page.html`);
    const inPage = await page.evaluate(() => window.bench.names);
    const rows: Record<string, () => Promise<Row>> = {
      'page-bytes': pageLibraryBytes,
      'service-worker-bytes': serviceWorkerBytes,
      'models-warm': () => timeModels('GET /v1/models, warm', rounds * 4, async () => undefined),
      'models-stopped': () =>
        timeModels('GET /v1/models, service worker stopped', rounds, () => stopServiceWorker(page)),
    };
    async function timeModels(name: string, count: number, prepare: () => Promise<void>): Promise<Row> {
      await page.evaluate(() => window.bench.timeModels());
      const row: Row = { name, unit: 'ms', values: [] };
      for (let i = 0; i < count; i++) {
        await prepare();
        row.values.push(await page.evaluate(() => window.bench.timeModels()));
      }
      return row;
    }
    for (const name of inPage)
      rows[name] = () =>
        page.evaluate(([row, count]) => window.bench.run(row, count), [name, rounds] as const);

    const wanted = values.row ?? Object.keys(rows);
    const unknown = wanted.filter((name) => rows[name] === undefined);
    if (unknown.length > 0)
      throw new RangeError(`no row ${unknown.join(', ')}; the rows are ${Object.keys(rows).join(', ')}`);
    console.log(HEAD);
    const measured: Record<string, Row> = {};
    for (const name of wanted) {
      const row = await rows[name]?.();
      if (row === undefined) continue;
      measured[name] = row;
      console.log(line(row));
    }
    await mkdir('dist/bench', { recursive: true });
    const machine = { cores: cpus().length, browser: browser.browser()?.version() ?? 'unknown' };
    await writeFile('dist/bench/result.json', JSON.stringify({ machine, rows: measured }, null, 2));
    console.log('The same as JSON, with the figures behind each ratio: dist/bench/result.json');
  } finally {
    await browser.close();
    await site.stop();
  }
}
