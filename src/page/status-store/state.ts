import type { Localtext, LocaltextStatus } from '../localtext.ts';
import type { LoadProgress } from '../../protocol/worker-control.ts';

export interface LocaltextState {
  /** The page's handle; null until `start()` has resolved, and on a server. */
  readonly localtext: Localtext | null;
  /** Null until the engine has reported. */
  readonly status: LocaltextStatus | null;
  /** What `start()` rejected with. */
  readonly error: Error | null;
}

export interface ModelState {
  /** `starting`: the engine has not reported yet. */
  readonly state: 'starting' | 'idle' | 'loading' | 'ready' | 'failed';
  /** While it loads. */
  readonly progress: LoadProgress | null;
  /** Why it failed. */
  readonly error: Error | null;
}

/** Before anything has started: what a server renders. */
export const INITIAL_STATE: LocaltextState = { localtext: null, status: null, error: null };
export const INITIAL_MODEL: ModelState = { state: 'starting', progress: null, error: null };

/** What the engine reports of a model. */
export function modelOf({ status, error }: LocaltextState, id: string): ModelState {
  if (error) return { state: 'failed', progress: null, error };
  if (!status?.epoch) return INITIAL_MODEL;
  const model = status.models.find((each) => each.id === id);
  if (model)
    return {
      state: model.state,
      progress: model.progress,
      error: model.error === null ? null : new Error(model.error),
    };
  const known = status.models.map((each) => each.id).join(', ');
  return {
    state: 'failed',
    progress: null,
    error: new Error(`There is no model "${id}". Models: ${known}.`),
  };
}
