import { computed } from '@preact/signals';
import { engineStatus, modelStatuses } from './localtext.ts';

/** What is known of speech to text here. `absent`: no model of the catalog does it. */
export type SpeechState = 'unknown' | 'absent' | 'no weights' | 'usable';

const status = computed(() => modelStatuses.value.find(({ kind }) => kind === 'transcription'));

/** The model that transcribes; null: none. */
export const speechModel = computed(() => status.value?.id ?? null);

export const speechState = computed<SpeechState>(() => {
  if (!engineStatus.value) return 'unknown';
  if (!status.value) return 'absent';
  const { reasons = [], state } = status.value;
  if (reasons.length > 0 || state === 'ready') return 'usable';
  // Variants of all models are chosen together.
  const chosen = modelStatuses.value.some((model) => (model.reasons ?? []).length > 0);
  return chosen ? 'no weights' : 'unknown';
});
