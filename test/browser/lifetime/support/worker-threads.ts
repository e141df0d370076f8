import { readdir, readFile } from 'node:fs/promises';

import { findRoot, processTree } from '../../../support/process-memory.ts';

/**
 * How many worker threads all pages of a browser have, those of WASM among them: the browser's own protocol forgets of
 * nested workers once the one that started them has ended. Linux alone tells.
 */
export async function workerThreads(profile: string): Promise<number> {
  let count = 0;
  for (const pid of await processTree(await findRoot(profile))) {
    const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
    const names = await Promise.all(threads.map((thread) => read(`/proc/${pid}/task/${thread}/comm`)));
    count += names.filter((name) => name.startsWith('DedicatedWorker')).length;
  }
  return count;
}

/** Reads a thread's file; empty for a thread that has just ended. */
const read = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '');
