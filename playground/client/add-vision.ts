import { preference } from '../preferences.ts';

/** Whether the catalog has a model that sees. What a page has started with holds until it is reloaded. */
export const visionAdded = preference('vision-model', false);

export function addVision(added: boolean): void {
  visionAdded.value = added;
  location.reload();
}
