import { Session } from 'node:inspector/promises';

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });

const OTHERS = /^node:|\/node_modules\/(@?vitest|vite|chai|@sinonjs)\/|\/test\//;

/** About what a processor runs in a second. */
export const STEPS_OF_A_SECOND = 1e8;

/**
 * Number of code blocks that `work` runs in this process, without those of tests: the same on any machine, however busy. Of a
 * function that ran before this module was loaded, calls are counted. Built-in functions count nothing.
 */
export async function stepsOf(work: () => unknown): Promise<number> {
  await session.post('Profiler.takePreciseCoverage');
  await work();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  return result
    .filter(({ url }) => !OTHERS.test(url))
    .flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges))
    .reduce((steps, { count }) => steps + count, 0);
}
