import { mkdir, rm, writeFile } from 'node:fs/promises';
import { format, resolveConfig } from 'prettier';

import { measurements } from '../measurements.ts';
import type { Measured, Result } from '../result.ts';
import type { Row } from '../row.ts';
import { bounds } from './bounds.ts';
import { plotSeries } from './plots.ts';
import * as sections from './sections.ts';

const PAGE = 'docs/performance.md';
const PLOTS = 'docs/performance';

/** Writes docs/performance.md and its plots from the measurements. */
export async function writeDocument(result: Result): Promise<void> {
  // A fixed order, independent of the order of the measurements.
  const measured = Object.keys(measurements)
    .map((name): [string, Measured | undefined] => [name, result.measurements[name]])
    .filter(hasRows);
  if (measured.length === 0) throw new Error('There are no measurements to write.');
  const named = measured.flatMap(([name, { rows }]) => rows.map((row) => ({ name, row })));
  const growing = measured.flatMap(([name, { rows }]) =>
    rows
      .flatMap((row) => (row.series ? [{ row, series: row.series }] : []))
      .map((each, at) => ({ ...each, name: at === 0 ? name : `${name}-${at + 1}` })),
  );
  const plots = await plotSeries(Object.fromEntries(growing.map(({ name, series }) => [name, series])));
  await rm(PLOTS, { recursive: true, force: true });
  await mkdir(PLOTS, { recursive: true });
  for (const [name, svg] of Object.entries(plots)) await writeFile(`${PLOTS}/${name}.svg`, `${svg}\n`);

  const page = [
    sections.introduction(),
    sections.machine(
      result.machine,
      measured.map(([, about]) => about),
    ),
    sections.table(named.map(({ row }) => row)),
    sections.unmeasured(named.some(({ name }) => name === 'web-llm')),
    sections.gpu(),
    sections.missed(named, bounds),
    sections.parts(named.find(({ name }) => name === 'first-token-parts')?.row),
    sections.growth(growing),
    sections.measures(named.map(({ row }) => row)),
  ].join('\n\n');
  const options = await resolveConfig(PAGE);
  await writeFile(PAGE, await format(page, { ...options, parser: 'markdown' }));
  console.log(`Written: ${PAGE} and ${Object.keys(plots).length} plots in ${PLOTS}`);
}

type WithRows = Extract<Measured, { rows: Row[] }>;

const hasRows = (entry: [string, Measured | undefined]): entry is [string, WithRows] =>
  entry[1] !== undefined && 'rows' in entry[1];
