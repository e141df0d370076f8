import { readFile, writeFile } from 'node:fs/promises';
import { format, resolveConfig } from 'prettier';

import { measurements } from './measurements.ts';
import { HEAD, line } from './report.ts';
import type { Result } from './result.ts';

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
