import { readdir, readFile } from 'node:fs/promises';

/**
 * Bytes of a process and all that it started: the sum of the proportional set sizes, in which a page that several
 * processes share is counted once. Pages of files are left out: they are the browser's program, and their share changes
 * when another browser starts or ends. Linux only.
 */
export async function treeBytes(root: number): Promise<number> {
  const processes = await tree(root);
  const sizes = await Promise.all(processes.map(proportionalBytes));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** The process whose command line has this argument, and whose parent has it not. */
export async function findRoot(argument: string): Promise<number> {
  const all = await parents();
  const having = new Set<number>();
  for (const id of all.keys()) {
    const command = await readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => '');
    if (command.split('\0').some((each) => each.includes(argument))) having.add(id);
  }
  const root = [...having].find((id) => !having.has(all.get(id) ?? 0));
  if (root === undefined) throw new Error(`no process was started with ${argument}`);
  return root;
}

async function tree(root: number): Promise<number[]> {
  const all = await parents();
  const found = [root];
  // Grows while it is walked.
  for (const parent of found) for (const [id, itsParent] of all) if (itsParent === parent) found.push(id);
  return found;
}

async function parents(): Promise<Map<number, number>> {
  const ids = (await readdir('/proc')).map(Number).filter(Number.isInteger);
  const read = ids.map(async (id): Promise<[number, number]> => {
    const stat = await readFile(`/proc/${id}/stat`, 'utf8').catch(() => '');
    // The name before is in brackets, and may hold spaces.
    return [id, Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])];
  });
  return new Map(await Promise.all(read));
}

async function proportionalBytes(id: number): Promise<number> {
  const rollup = await readFile(`/proc/${id}/smaps_rollup`, 'utf8').catch(() => '');
  const kilobytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(rollup)?.[1] ?? 0);
  return (kilobytes('Pss') - kilobytes('Pss_File')) * 1024;
}
