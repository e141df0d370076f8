import { computed, type ReadonlySignal } from '@preact/signals';
import { downloads } from './downloads.ts';
import { modelStatuses } from './localtext.ts';

/** State of a model that not every site has. `absent` if the catalog has none of its kind. */
export type OptionalModelState = 'unknown' | 'absent' | 'no weights' | 'usable';

interface OptionalModel {
  /** Its id; null if there is none. */
  id: ReadonlySignal<string | null>;
  state: ReadonlySignal<OptionalModelState>;
}

function modelOfKind(wanted: 'transcription' | 'speech'): OptionalModel {
  const status = computed(() => modelStatuses.value.find(({ kind }) => kind === wanted));
  const now = (): OptionalModelState => {
    // No engine answers.
    if (modelStatuses.value.length === 0) return 'unknown';
    if (!status.value) return 'absent';
    const { id, reasons = [], state: current } = status.value;
    if (reasons.some((reason) => reason.chosen) || current === 'ready') return 'usable';
    // It is not chosen after a failed download, which can be tried again.
    if (downloads.value[id]?.phase === 'failed') return 'usable';
    // Variants of all models are chosen together.
    const chosen = modelStatuses.value.some((model) => (model.reasons ?? []).length > 0);
    return chosen ? 'no weights' : 'unknown';
  };
  let known: OptionalModelState = 'unknown';
  const state = computed(() => {
    const current = now();
    // An engine that starts again has chosen nothing yet: a form keeps what was typed.
    if (current !== 'unknown') known = current;
    return known;
  });
  return { id: computed(() => status.value?.id ?? null), state };
}

/** Speech to text. */
export const { id: speechModel, state: speechState } = modelOfKind('transcription');
/** Text to speech. */
export const { id: voiceModel, state: voiceState } = modelOfKind('speech');
