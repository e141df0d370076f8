import { isTouch } from '../media.ts';
import { missingBytes } from './model-facts.ts';
import { hubAllowed } from './catalog-settings.ts';

/** Whether the user is asked before a load, since weights from the hub can be gigabytes and phones may have metered connections. */
export const asksFirst = (model: string): boolean =>
  hubAllowed.value || ((isTouch.value || savesData()) && missingBytes(model) !== 0);

/** Whether the user has asked the browser to save data. */
function savesData(): boolean {
  const { connection } = navigator as Navigator & { connection?: { saveData?: boolean } };
  return connection?.saveData === true;
}
