import { preference } from '../preferences.ts';

/** Whether weights may come from the model hub. A change takes effect after a reload. */
export const hubAllowed = preference('model-hub', false);

export function allowHub(allowed: boolean): void {
  hubAllowed.value = allowed;
  location.reload();
}
