import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const SAMPLE_MS = 200;

/** A running process, by what Linux tells of it. */
interface Process {
  id: number;
  /** Cut to 15 characters. */
  program: string;
  parent: number;
  group: number;
}

/**
 * Bytes of a process and all that it started: the sum of the proportional set sizes, in which a page that several
 * processes share is counted once. Pages of files are left out: they are the browser's program, and their share changes
 * when another browser starts or ends.
 */
export const treeBytes = async (root: number): Promise<number> => sumOf(await processTree(root));

/** Processor time that a process and all that it started have used; without those that have ended. */
export async function treeCpuMs(root: number): Promise<number> {
  const ids = await processTree(root);
  const times = await Promise.all(ids.map(cpuMs));
  return times.reduce((sum, time) => sum + time, 0);
}

/** The most that `treeBytes` counts while something runs. @throws what that fails with */
export async function peakTreeBytes(root: number, work: Promise<unknown>): Promise<number> {
  const done = work.then(() => 'done' as const);
  let peak = 0;
  do peak = Math.max(peak, await treeBytes(root));
  while ((await Promise.race([done, sleep(SAMPLE_MS, 'sample' as const)])) !== 'done');
  return peak;
}

/** Sums the memory of the processes of a group that run one program. */
export async function groupBytes(group: number, program: string): Promise<number> {
  const all = await processes();
  return sumOf(all.filter((each) => each.group === group && each.program === program).map(({ id }) => id));
}

/** The process whose command line has this argument, and whose parent has it not. */
export async function findRoot(argument: string): Promise<number> {
  const all = await processes();
  const having = new Set<number>();
  for (const { id } of all) {
    const command = await read(`/proc/${id}/cmdline`);
    if (command.split('\0').some((each) => each.includes(argument))) having.add(id);
  }
  const root = all.find(({ id, parent }) => having.has(id) && !having.has(parent));
  if (root === undefined) throw new Error(`no process was started with ${argument}`);
  return root.id;
}

/** A process and all that it started, directly or not. */
export async function processTree(root: number): Promise<number[]> {
  const all = await processes();
  const found = [root];
  // Grows while it is walked.
  for (const id of found) found.push(...all.filter(({ parent }) => parent === id).map((each) => each.id));
  return found;
}

async function processes(): Promise<Process[]> {
  const ids = (await readdir('/proc')).map(Number).filter(Number.isInteger);
  const found = ids.map(async (id): Promise<Process[]> => {
    // The name is in brackets, and may hold spaces and brackets.
    const [, program = '', parent, group] =
      /\((.*)\) \S (\d+) (\d+)/.exec(await read(`/proc/${id}/stat`)) ?? [];
    return parent === undefined ? [] : [{ id, program, parent: Number(parent), group: Number(group) }];
  });
  return (await Promise.all(found)).flat();
}

async function sumOf(ids: readonly number[]): Promise<number> {
  const sizes = await Promise.all(ids.map(proportionalBytes));
  return sizes.reduce((sum, size) => sum + size, 0);
}

async function proportionalBytes(id: number): Promise<number> {
  const rollup = await read(`/proc/${id}/smaps_rollup`);
  const kilobytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(rollup)?.[1] ?? 0);
  return (kilobytes('Pss') - kilobytes('Pss_File')) * 1024;
}

/** Linux counts in hundredths of a second. */
const TICK_MS = 10;

async function cpuMs(id: number): Promise<number> {
  const afterName = (await read(`/proc/${id}/stat`)).split(') ')[1]?.split(' ') ?? [];
  const [user = 0, system = 0] = afterName.slice(11, 13).map(Number);
  return (user + system) * TICK_MS;
}

/** Reads a file; empty for a process that has just ended. */
const read = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '');
