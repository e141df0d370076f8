import { isTouch } from '../media.ts';
import { missingBytes } from './model-facts.ts';
import { hubAllowed } from './model-hub.ts';

/** Whether the user is asked before a model is loaded: weights from the hub may be gigabytes, and a phone may pay for each. */
export const asksFirst = (model: string): boolean =>
  hubAllowed.value || ((isTouch.value || savesData()) && missingBytes(model) !== 0);

/** Whether the user has asked the browser for little traffic. */
function savesData(): boolean {
  const { connection } = navigator as Navigator & { connection?: { saveData?: boolean } };
  return connection?.saveData === true;
}
