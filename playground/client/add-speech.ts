import { preference } from '../preferences.ts';

/** Whether the catalog has a speech model. What a page has started with holds until it is reloaded. */
export const speechAdded = preference('speech-model', false);

export function addSpeech(added: boolean): void {
  speechAdded.value = added;
  location.reload();
}
