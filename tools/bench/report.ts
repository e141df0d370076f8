import { readFile, writeFile } from 'node:fs/promises';
import { format, resolveConfig } from 'prettier';

import { measurements } from './measurements.ts';
import type { Result } from './result.ts';
import { summarize, type Row } from './row.ts';

export const HEAD = '| row | median | min–max | values | goal | | medians |\n|---|---|---|---|---|---|---|';

/** One line of the table that people read. */
export function line(row: Row): string {
  const { median, min, max } = summarize(row.values);
  const spread = row.values.length > 1 ? `${figure(row, min)}–${figure(row, max)}` : '';
  const unit = isAbsolute(row.unit) ? ` ${row.unit}` : '';
  return `| ${row.name} | ${figure(row, median)}${unit} | ${spread} | ${row.values.length} | ${goal(row)} | ${verdict(row)} | ${details(row)} |`;
}

/** Medians of the figures behind a row. */
function details({ detail = {} }: Row): string {
  const medians = Object.entries(detail).map(([name, values]) => {
    const { median } = summarize(values);
    return `${name}: ${median.toFixed(Math.abs(median) < 100 ? 1 : 0)}`;
  });
  return medians.join('; ');
}

function verdict({ goal: wanted, values }: Row): string {
  if (wanted === undefined) return '';
  const { median } = summarize(values);
  const held = 'atLeast' in wanted ? median >= wanted.atLeast : median <= wanted.atMost;
  return held ? 'met' : '**missed**';
}

function goal({ goal: wanted }: Row): string {
  if (wanted === undefined) return '';
  return 'atLeast' in wanted ? `≥ ${wanted.atLeast}` : `≤ ${wanted.atMost}`;
}

function figure({ unit }: Row, value: number): string {
  if (unit === 'ms' && Math.abs(value) >= 100) return value.toFixed(0);
  if (isAbsolute(unit)) return value.toFixed(1);
  return Math.abs(value) < 0.1 ? value.toFixed(4) : value.toFixed(2);
}

const isAbsolute = (unit: Row['unit']): boolean => unit !== 'ratio' && unit !== 'exponent';

const PAGE = 'docs/performance.md';
const TABLE = /(<!-- npm run bench -->\n)[^]*?(<!-- end -->)/;

/** Writes the machine and the rows between the marks in docs/performance.md, in the order of the measurements. */
export async function writeTable({ machine, measurements: measured }: Result): Promise<void> {
  const done = Object.keys(measurements).flatMap((name) => {
    const found = measured[name];
    return found && 'rows' in found ? [found] : [];
  });
  const distinct = (values: string[]): string => [...new Set(values)].toSorted().join(', ');
  const loads = done.map(({ load }) => load);
  const about = `${machine.processor}, ${machine.cores} logical processors, ${(machine.memoryBytes / 2 ** 30).toFixed(0)} GiB of memory; ${machine.system}; ${machine.browser}, headless, without a GPU; Node ${machine.node}. Measured on ${distinct(done.map(({ at }) => at.slice(0, 10)))}, of commit ${distinct(done.map(({ commit }) => commit))}. Load average at the start of a row: ${Math.min(...loads)} to ${Math.max(...loads)}.`;
  const table = `${about}\n\n${HEAD}\n${done.flatMap(({ rows }) => rows.map(line)).join('\n')}\n\n`;
  const text = await readFile(PAGE, 'utf8');
  const written = text.replace(TABLE, (_all, begin: string, end: string) => `${begin}\n${table}${end}`);
  await writeFile(PAGE, await format(written, { ...(await resolveConfig(PAGE)), parser: 'markdown' }));
}
