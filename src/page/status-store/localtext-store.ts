import { shared } from '#base';
import type { Localtext } from '../localtext.ts';
import { INITIAL_STATE, modelOf, type LocaltextState, type ModelState } from './state.ts';

/**
 * Creates a store that starts nothing before the first subscription or `load()`: a module may create it on a
 * server too.
 * @example
 * import { start } from 'localtext';
 * import { createStore } from 'localtext/store';
 * const store = createStore(() => start({ base: '/app/' }));
 * store.subscribe(() => console.log(store.getModel('amber-phoenix-4').state));
 */
export const createStore = (start: () => Promise<Localtext>): LocaltextStore => new LocaltextStore(start);

/** Made by `createStore()`. Its functions need no `this`, and return the same object until it changes. */
class LocaltextStore {
  readonly #start: () => Promise<Localtext>;
  readonly #listeners = new Set<() => void>();
  readonly #models = new Map<string, ModelState>();
  readonly #loads = new Map<string, { done: Promise<void>; cancel: AbortController }>();
  readonly #loadErrors = new Map<string, Error>();
  #handle: Promise<Localtext> | null = null;
  #state = INITIAL_STATE;

  /** @internal */
  constructor(start: () => Promise<Localtext>) {
    this.#start = start;
  }

  /** Starts localtext, if nothing has yet. @throws what `start()` rejects with */
  readonly start = (): Promise<Localtext> => this.#connect();

  /** Starts localtext, if nothing has yet. @returns the end of the subscription */
  readonly subscribe = (listener: () => void): (() => void) => {
    // Two subscriptions may share a function.
    const own = (): void => listener();
    this.#listeners.add(own);
    this.#connect().catch(() => undefined);
    return () => void this.#listeners.delete(own);
  };

  readonly getState = (): LocaltextState => this.#state;

  /** @param id as `GET /v1/models` lists it */
  readonly getModel = (id: string): ModelState => {
    const model = this.#modelWithLoads(id);
    const last = this.#models.get(id);
    if (last && inText(last) === inText(model)) return last;
    this.#models.set(id, model);
    return model;
  };

  /**
   * Loads a model, and starts localtext if necessary. Never rejects: when it resolves, `getModel(id)` has the
   * outcome, and its `error` says why it failed.
   */
  readonly load = (id: string): Promise<void> => {
    const running = this.#loads.get(id);
    if (running) return running.done;
    this.#loadErrors.delete(id);
    const cancel = new AbortController();
    const done = this.#connect()
      .then((localtext) => localtext.ready(id, { signal: cancel.signal }))
      .catch((error: unknown) => {
        if (!cancel.signal.aborted) this.#loadErrors.set(id, toError(error));
      })
      // The status event comes later than the answer.
      .then(() => this.#refresh())
      .finally(() => {
        if (this.#loads.get(id)?.cancel === cancel) this.#loads.delete(id);
        this.#notify();
      });
    this.#loads.set(id, { done, cancel });
    this.#notify();
    return done;
  };

  /**
   * Ends this page's `load()`. The downloaded part stays, and the next load continues it; `weights.cancel()`
   * deletes it and ends the loads of all pages. Another page's load continues.
   */
  readonly cancel = (id: string): void => {
    this.#loads.get(id)?.cancel.abort(new DOMException('The load was cancelled.', 'AbortError'));
    this.#loads.delete(id);
    this.#notify();
  };

  /**
   * Adds this page's loads to the engine's report: the engine reports a load with a delay, and does not
   * report failures before the load began.
   */
  #modelWithLoads(id: string): ModelState {
    const model = modelOf(this.#state, id);
    if (model.state === 'ready' || model.state === 'loading') return model;
    if (this.#loads.has(id)) return { ...model, state: 'loading', error: null };
    const error = this.#loadErrors.get(id);
    return error === undefined ? model : { ...model, state: 'failed', error };
  }

  #connect(): Promise<Localtext> {
    if (this.#handle) return this.#handle;
    const handle = this.#start();
    this.#handle = handle;
    handle.then(
      (localtext) => this.#follow(localtext),
      (error: unknown) => this.#reset(toError(error)),
    );
    return handle;
  }

  #follow(localtext: Localtext): void {
    const { stopped: signal } = localtext;
    this.#set({ localtext, status: null, error: null });
    localtext.addEventListener('status', () => void this.#refresh(), { signal });
    signal.addEventListener('abort', () => this.#reset(null));
    void this.#refresh();
  }

  /** Resets the state. The next subscription or load starts localtext again. */
  #reset(error: Error | null): void {
    this.#handle = null;
    this.#set({ ...INITIAL_STATE, error });
  }

  /**
   * Refreshes the status, one call at a time, as answers may overtake each other. The last call begins after
   * the last event.
   */
  readonly #refresh = shared(async () => {
    const { localtext, status: known } = this.#state;
    const report = await localtext?.status().then(
      (status) => ({ status, error: null }),
      // A later failure is reported by the next event.
      (error: unknown) => !known && { status: null, error: toError(error) },
    );
    if (localtext && report && this.#state.localtext === localtext) this.#set({ localtext, ...report });
  });

  #set(state: LocaltextState): void {
    this.#state = state;
    this.#notify();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}

export type { LocaltextStore };

const toError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

/** Serializes a state for comparison: each report creates a new error. */
const inText = ({ error, ...state }: ModelState): string => JSON.stringify([state, error?.message]);
