import { preference } from '../preferences.ts';

/** Whether weights may come from the model hub. What a page has started with holds until it is reloaded. */
export const hubAllowed = preference('model-hub', false);

export function allowHub(allowed: boolean): void {
  hubAllowed.value = allowed;
  location.reload();
}
