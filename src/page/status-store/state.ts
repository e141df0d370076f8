import type { Localtext, LocaltextStatus } from '../localtext.ts';
import type { LoadProgress, ModelStatus, VariantEstimate, VariantReason } from '#protocol';

export interface LocaltextState {
  /** The page's handle; null until `start()` has resolved, and on a server. */
  readonly localtext: Localtext | null;
  /** Status; null until the engine has reported. */
  readonly status: LocaltextStatus | null;
  /** Error that `start()` rejected with, or why no engine has started yet. */
  readonly error: Error | null;
}

export interface ModelState {
  /** `starting`: the engine has not reported yet, or has not checked yet what is stored. */
  readonly state: 'starting' | 'idle' | 'loading' | 'ready' | 'failed';
  /** Progress of a running load; null: none runs, or it has not reported yet. */
  readonly progress: LoadProgress | null;
  /** Bytes that a load would still download; 0: all of it is stored. Null: unknown, or a server runs it. */
  readonly downloadBytes: number | null;
  /** Estimate for the running download, or for one that would start; null: unknown. */
  readonly secondsLeft: number | null;
  /** Weights that needed the memory of this model, which was therefore unloaded. */
  readonly unloadedFor: string | null;
  /** Reason of the failure. */
  readonly error: Error | null;
}

/** State before anything has started, which a server renders. */
export const INITIAL_STATE: LocaltextState = { localtext: null, status: null, error: null };
export const INITIAL_MODEL: ModelState = {
  state: 'starting',
  progress: null,
  downloadBytes: null,
  secondsLeft: null,
  unloadedFor: null,
  error: null,
};

/** Engines whose variants download nothing that the engine could measure. */
const WITHOUT_FILES = new Set(['upstream', 'built-in']);

/** State of a model, from the engine's report. */
export function modelOf({ status, error }: LocaltextState, id: string): ModelState {
  if (error) return { ...INITIAL_MODEL, state: 'failed', error };
  if (!status?.epoch) return INITIAL_MODEL;
  const model = status.models.find((each) => each.id === id);
  if (!model) {
    const known = status.models.map((each) => each.id).join(', ');
    return {
      ...INITIAL_MODEL,
      state: 'failed',
      error: new Error(`There is no model "${id}". Models: ${known}. \`start({ catalog })\` adds others.`),
    };
  }
  if (model.state === 'idle' && !isChecked(model)) return INITIAL_MODEL;
  const estimate = estimateOf(model);
  // The engine keeps the last progress of a model that is ready.
  const progress = model.state === 'loading' ? model.progress : null;
  return {
    state: model.state,
    progress,
    downloadBytes: estimate?.downloadBytes ?? null,
    secondsLeft: progress ? secondsLeft(progress) : secondsOf(model.state, estimate),
    unloadedFor: model.unloadedFor ?? null,
    error: model.error === null ? null : new Error(model.error),
  };
}

const chosenOf = ({ reasons = [] }: ModelStatus): VariantReason | undefined =>
  reasons.find((reason) => reason.chosen);

const estimateOf = (model: ModelStatus): VariantEstimate | undefined =>
  model.estimates?.[chosenOf(model)?.variant ?? ''];

/** Whether the engine has chosen the weights, and measured what is stored of them. */
function isChecked(model: ModelStatus): boolean {
  const chosen = chosenOf(model);
  if (!chosen) return (model.reasons ?? []).length > 0;
  return WITHOUT_FILES.has(chosen.engine) || estimateOf(model) !== undefined;
}

const secondsOf = (state: ModelState['state'], estimate: VariantEstimate | undefined): number | null =>
  state === 'ready' ? null : (estimate?.downloadSeconds ?? null);

const secondsLeft = ({ loadedBytes, totalBytes, bytesPerSecond = 0 }: LoadProgress): number | null =>
  bytesPerSecond > 0 ? Math.ceil((totalBytes - loadedBytes) / bytesPerSecond) : null;
