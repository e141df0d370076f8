import {
  createContext,
  createElement,
  useCallback,
  useContext,
  useEffect,
  useRef,
  useSyncExternalStore,
  type ReactElement,
  type ReactNode,
} from 'react';

import type { LocaltextStore } from '../status-store/localtext-store.ts';
import { showModel } from '../status-store/show-model.ts';
import { showUpdate } from '../status-store/show-update.ts';
import { INITIAL_MODEL, INITIAL_STATE, type LocaltextState, type ModelState } from '../status-store/state.ts';

const StoreContext = createContext<LocaltextStore | null>(null);

/**
 * Gives the hooks below it their store.
 * @example
 * ```tsx
 * import { start } from 'localtext';
 * import { LocaltextProvider } from 'localtext/react';
 * import { createStore } from 'localtext/store';
 * const store = createStore(() => start());
 * const app = <LocaltextProvider store={store}>Hello.</LocaltextProvider>;
 * ```
 */
export function LocaltextProvider(props: { store: LocaltextStore; children?: ReactNode }): ReactElement {
  return createElement(StoreContext.Provider, { value: props.store }, props.children);
}

/** The page's handle, and the status of engine and models. */
export function useLocaltext(): LocaltextState {
  const { subscribe, getState } = useStore();
  return useSyncExternalStore(subscribe, getState, initialState);
}

export interface Model extends ModelState {
  /**
   * Loads it, in whichever tab the engine is; it downloads without a question. Without this call, the first
   * request does. Stays the same function.
   */
  load: () => void;
  /**
   * Ends this page's load. Unlike `weights.cancel()`, it keeps the downloaded part. Stays the same function.
   */
  cancel: () => void;
}

/**
 * Whether a model is ready, its load's progress, and why it failed.
 * @param id as `GET /v1/models` lists it
 * @example
 * ```tsx
 * import { useModel } from 'localtext/react';
 * const { state, load } = useModel('amber-phoenix-4');
 * const button = <button onClick={load}>Download ({state})</button>;
 * ```
 */
export function useModel(id: string): Model {
  const store = useStore();
  const model = useSyncExternalStore(store.subscribe, () => store.getModel(id), initialModel);
  const load = useCallback(() => void store.load(id), [store, id]);
  const cancel = useCallback(() => store.cancel(id), [store, id]);
  return { ...model, load, cancel };
}

/**
 * Shows a visitor a model's load: the size of the download, progress, time left, and a button to cancel. It
 * asks before it downloads. Renders a `div` that `showModel()` fills, without styles.
 * @param props `model`: as `GET /v1/models` lists it; `ask`: false downloads without a click
 * @example
 * ```tsx
 * import { ModelLoad } from 'localtext/react';
 * const load = <ModelLoad model="amber-phoenix-4" className="model" />;
 * ```
 */
export function ModelLoad(props: { model: string; ask?: boolean; className?: string }): ReactElement {
  const { model, ask = true, className } = props;
  const store = useStore();
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!element.current) return;
    const unmount = new AbortController();
    showModel(store, model, element.current, { ask, signal: unmount.signal }).catch(() => undefined);
    return () => unmount.abort();
  }, [store, model, ask]);
  return createElement('div', { ref: element, className });
}

/**
 * Says that a new build of the site is ready, with a button that switches to it and reloads the page. Renders a
 * `div` that `showUpdate()` fills, without styles.
 * @example
 * ```tsx
 * import { UpdateNotice } from 'localtext/react';
 * const notice = <UpdateNotice className="update" />;
 * ```
 */
export function UpdateNotice({ className }: { className?: string }): ReactElement {
  const store = useStore();
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!element.current) return;
    const unmount = new AbortController();
    showUpdate(store, element.current, { signal: unmount.signal });
    return () => unmount.abort();
  }, [store]);
  return createElement('div', { ref: element, className });
}

function useStore(): LocaltextStore {
  const store = useContext(StoreContext);
  if (store === null)
    throw new Error('There is no <LocaltextProvider> above this component. Put one around the app.');
  return store;
}

// Initial states, which a server renders, and the page first renders too.
const initialState = (): LocaltextState => INITIAL_STATE;
const initialModel = (): ModelState => INITIAL_MODEL;
