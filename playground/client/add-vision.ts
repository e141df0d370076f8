import { preference } from '../preferences.ts';

/** Whether the catalog has a model with vision. A change takes effect after a reload. */
export const visionAdded = preference('vision-model', false);

export function addVision(added: boolean): void {
  visionAdded.value = added;
  location.reload();
}
