import { readdir, readFile } from 'node:fs/promises';

/**
 * How many worker threads all pages of a browser have, those of WASM among them: the browser's own protocol forgets of
 * nested workers once the one that started them has ended. Linux alone tells.
 */
export async function workerThreads(profile: string): Promise<number> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const parents = new Map<string, string>();
  const ours = new Set<string>();
  for (const pid of pids) {
    const [stat, command] = await Promise.all([read(`/proc/${pid}/stat`), read(`/proc/${pid}/cmdline`)]);
    parents.set(pid, /\) \S (\d+)/.exec(stat)?.[1] ?? '');
    if (command.includes(profile)) ours.add(pid);
  }
  const isOurs = (pid: string): boolean =>
    ours.has(pid) || (parents.has(pid) && isOurs(parents.get(pid) ?? ''));
  let count = 0;
  for (const pid of pids.filter(isOurs)) {
    const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
    const names = await Promise.all(threads.map((thread) => read(`/proc/${pid}/task/${thread}/comm`)));
    count += names.filter((name) => name.startsWith('DedicatedWorker')).length;
  }
  return count;
}

/** Of a process that has just ended: nothing. */
const read = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '');
