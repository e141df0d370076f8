import { signal } from '@preact/signals';
import { handle } from '../client/localtext.ts';
import type { KeyInfo } from '../../src/index.ts';
import { problemOf } from '../problem.ts';

/** The newest first, revoked ones last; null until read. */
export const keyList = signal<KeyInfo[] | null>(null);
export const keysProblem = signal<string | null>(null);

/** The message about the last change stays. */
export async function refreshKeys(): Promise<void> {
  try {
    const { keys } = await handle;
    const all = await keys.list();
    keyList.value = all.toSorted((a, b) => rank(a) - rank(b) || b.created - a.created);
  } catch (error) {
    keysProblem.value = problemOf(error);
  }
}

const rank = ({ state }: KeyInfo): number => (state === 'active' ? 0 : 1);

let changing = false;

/**
 * Runs a change to the keys; what goes wrong is shown above the list.
 * @returns null then, and beside another change: a second press would make a key that nobody has seen
 */
export async function attempt<T>(change: () => Promise<T>): Promise<T | null> {
  if (changing) return null;
  changing = true;
  try {
    keysProblem.value = null;
    return await change();
  } catch (error) {
    keysProblem.value = problemOf(error);
    return null;
  } finally {
    changing = false;
  }
}
