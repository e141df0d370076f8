import { preference } from '../preferences.ts';

/** Whether the catalog has a speech model. A change takes effect after a reload. */
export const speechAdded = preference('speech-model', false);

export function addSpeech(added: boolean): void {
  speechAdded.value = added;
  location.reload();
}
