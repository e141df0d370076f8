import { hubAllowed } from './model-hub.ts';

/** Whether the user is asked before weights are fetched: they may be gigabytes, from the hub. */
export const asksFirst = (): boolean => hubAllowed.value || savesData();

/** The user has asked for little traffic: nothing large is fetched unasked. */
function savesData(): boolean {
  const { connection } = navigator as Navigator & { connection?: { saveData?: boolean } };
  return connection?.saveData === true;
}
