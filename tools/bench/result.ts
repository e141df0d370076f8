import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';

import type { Circumstances, Machine } from './machine.ts';
import type { Row } from './row.ts';

const FOLDER = 'dist/bench';
export const RESULT_FILE = `${FOLDER}/result.json`;

export type Measured = Circumstances & { seconds: number } & ({ rows: Row[] } | { error: string });

/** All that is known of this machine, each measurement from the run that had it last. */
export interface Result {
  machine: Machine;
  measurements: Record<string, Measured>;
}

export async function readResult(): Promise<Result | null> {
  const text = await readFile(RESULT_FILE, 'utf8').catch(() => null);
  return text === null ? null : (JSON.parse(text) as Result);
}

/** What was measured on this machine before, or nothing. */
export async function resultFor(machine: Machine): Promise<Result> {
  const before = await readResult();
  return before && isDeepStrictEqual(before.machine, machine) ? before : { machine, measurements: {} };
}

export async function writeResult(result: Result): Promise<void> {
  await mkdir(FOLDER, { recursive: true });
  await writeFile(RESULT_FILE, JSON.stringify(result, null, 2));
}
