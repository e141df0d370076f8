import { parseArgs } from 'node:util';
import { build } from 'vite';

import { withTimeout } from '../../src/base/async.ts';
import { pullTestWeights } from '../../test/support/pull-test-weights.ts';
import { MLC_HOW } from '../../test/support/mlc-model.ts';
import { GPU_ROWS } from './gpu-rows.ts';
import { circumstances, describeMachine } from './machine.ts';
import { measurements } from './measurements.ts';
import { HEAD, line, writeTable } from './report.ts';
import { type Measured, readResult, RESULT_FILE, resultFor, writeResult } from './result.ts';
import { openStage, type Stage } from './stage.ts';

const USAGE = `npm run bench [-- [--gpu] [--row <name>] … [--rounds <number>] [--write]]

  --row         measures this alone; may be given more than once
  --gpu         measures what needs a GPU: ${GPU_ROWS.join(', ')}
  --rounds      how often each is measured; 3 when not given
  --write       writes the table in docs/performance.md afterwards

The row web-llm needs an MLC model. ${MLC_HOW}

Rows: ${Object.keys(measurements).join(', ')}

Without --row and --gpu all are measured but ${GPU_ROWS.join(' and ')}.`;

/** Every row in one run, ours beside the raw engine. */
export async function bench(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      gpu: { type: 'boolean', default: false },
      row: { type: 'string', multiple: true },
      rounds: { type: 'string', default: '3' },
      write: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const rounds = Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1)
    throw new RangeError(`--rounds takes a whole number from 1, not ${values.rounds}`);
  const without = Object.keys(measurements).filter((name) => !GPU_ROWS.includes(name));
  const wanted = values.row ?? (values.gpu ? GPU_ROWS : without);
  const unknown = wanted.filter((name) => !(name in measurements));
  if (unknown.length > 0) throw new RangeError(`no row ${unknown.join(', ')}\n\n${USAGE}`);

  const failed = await measureAll(wanted, rounds);
  if (values.write) {
    const result = await readResult();
    if (result === null) throw new Error(`There is no ${RESULT_FILE}: measure first.`);
    await writeTable(result);
  }
  if (failed.length > 0) throw new Error(`Not measured:\n${failed.join('\n')}`);
}

/** Measures the rows; a failed row does not stop the others. @returns the failed rows with their reasons */
async function measureAll(names: string[], rounds: number): Promise<string[]> {
  await pullTestWeights();
  console.log('Building the page…');
  await build({ mode: 'bench', logLevel: 'warn' });
  const stage = await openStage(rounds);
  const failed: string[] = [];
  try {
    const result = await resultFor(describeMachine(`Chromium ${stage.version}`));
    console.log(HEAD);
    for (const name of names) {
      const measured = await measure(name, stage);
      if ('error' in measured) failed.push(`${name}: ${measured.error}`);
      else for (const row of measured.rows) console.log(line(row));
      result.measurements[name] = measured;
      await writeResult(result);
    }
  } finally {
    await stage.close();
  }
  console.log(`The same as JSON, with the figures behind each ratio: ${RESULT_FILE}`);
  return failed;
}

/** Time limit of a row. A row that exceeds it is abandoned, with its page. */
const ROW_LIMIT_MS = 15 * 60_000;

async function measure(name: string, stage: Stage): Promise<Measured> {
  const began = performance.now();
  const about = circumstances();
  const seconds = (): number => Math.round((performance.now() - began) / 1000);
  try {
    await stage.reload();
    const rows = await withTimeout(Promise.resolve(measurements[name]?.(stage) ?? []), ROW_LIMIT_MS);
    if (rows === null) throw new Error(`not done after ${ROW_LIMIT_MS / 60_000} minutes`);
    return { ...about, seconds: seconds(), rows: [rows].flat() };
  } catch (error) {
    return { ...about, seconds: seconds(), error: error instanceof Error ? error.message : String(error) };
  }
}
