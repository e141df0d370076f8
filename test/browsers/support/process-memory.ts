import { readdir, readFile } from 'node:fs/promises';

/** Bytes in memory of the processes of a group, summed by program. Linux. */
export async function memoryOf(group: number): Promise<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    try {
      const [stat, status] = await Promise.all([
        readFile(`/proc/${pid}/stat`, 'utf8'),
        readFile(`/proc/${pid}/status`, 'utf8'),
      ]);
      const [, program = '', , , groupOf] = /\((.*)\) (\S) (\d+) (\d+)/.exec(stat) ?? [];
      const kilobytes = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0);
      if (Number(groupOf) === group) sums[program] = (sums[program] ?? 0) + kilobytes * 1024;
    } catch {
      // It has ended.
    }
  }
  return sums;
}
