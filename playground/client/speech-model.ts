import { computed } from '@preact/signals';
import { engineStatus, modelStatuses } from './localtext.ts';

/** State of speech to text. `absent` if the catalog has no speech model. */
export type SpeechState = 'unknown' | 'absent' | 'no weights' | 'usable';

const status = computed(() => modelStatuses.value.find(({ kind }) => kind === 'transcription'));

/** The speech model; null if there is none. */
export const speechModel = computed(() => status.value?.id ?? null);

export const speechState = computed<SpeechState>(() => {
  if (!engineStatus.value) return 'unknown';
  if (!status.value) return 'absent';
  const { reasons = [], state } = status.value;
  if (reasons.some((reason) => reason.chosen) || state === 'ready') return 'usable';
  // Variants of all models are chosen together.
  const chosen = modelStatuses.value.some((model) => (model.reasons ?? []).length > 0);
  return chosen ? 'no weights' : 'unknown';
});
