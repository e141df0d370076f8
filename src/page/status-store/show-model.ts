import type { LocaltextStore } from './localtext-store.ts';
import { type LoadView, viewOf } from './load-view.ts';

/** Time without new bytes after which a download waits for the connection. */
const SILENCE_MS = 5000;

export interface ShowModelOptions {
  /** Whether a download requires a click. Default true. A stored model is loaded at once in any case. */
  ask?: boolean;
  /** Ends the display and empties the element when aborted. */
  signal?: AbortSignal;
}

/**
 * Shows a model's load in an element: what it downloads, progress, time left, a button to cancel, and whether
 * a GPU was found. It asks before it downloads. The elements have no styles: `p`, `progress` and `button`.
 * @param id as `GET /v1/models` lists it
 * @returns resolves when the model is ready for the first time; rejects with the signal's reason.
 * @example
 * import { start } from 'localtext';
 * import { createStore, showModel } from 'localtext/store';
 * const store = createStore(() => start());
 * await showModel(store, 'amber-phoenix-4', document.body);
 */
export function showModel(
  store: LocaltextStore,
  id: string,
  element: Element,
  { ask = true, signal }: ShowModelOptions = {},
): Promise<void> {
  const text = document.createElement('p');
  text.role = 'status';
  const details = document.createElement('p');
  const bar = document.createElement('progress');
  bar.ariaLabel = `Load of ${id}`;
  const button = document.createElement('button');
  button.type = 'button';
  let confirmed = !ask;
  let cancelled = false;
  let waits = false;
  let loadedBytes: number | undefined;
  let silence: ReturnType<typeof setTimeout> | undefined;
  let action: LoadView['button'];

  // Elements that stay are not inserted again: they would lose the focus, or a click.
  const show = (parts: readonly [part: Element, shown: boolean][]): void => {
    let next: Element | null = null;
    for (const [part, shown] of parts.toReversed()) {
      if (!shown) part.remove();
      else if (part.parentElement !== element) element.insertBefore(part, next);
      if (shown) next = part;
    }
  };

  /** @returns whether the model is ready */
  const draw = (): boolean => {
    const model = store.getModel(id);
    if (model.progress?.loadedBytes !== loadedBytes) {
      ({ loadedBytes } = model.progress ?? {});
      waits = false;
      clearTimeout(silence);
      silence = setTimeout(() => {
        waits = true;
        if (!signal?.aborted) draw();
      }, SILENCE_MS);
    }
    const view = viewOf(id, model, store.getState(), { cancelled, waits });
    if (text.textContent !== view.text) text.textContent = view.text;
    details.textContent = view.details ?? '';
    action = view.button;
    button.textContent = action ?? '';
    for (const name of ['value', 'max'] as const) {
      const value = view.bar?.[name];
      if (value === undefined) bar.removeAttribute(name);
      else bar[name] = value;
    }
    show([
      [text, true],
      [details, view.details !== undefined],
      [bar, view.bar !== undefined],
      [button, action !== undefined],
    ]);
    return model.state === 'ready';
  };

  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    let unsubscribe = (): void => undefined;
    let done = false;
    const change = (): void => {
      if (signal?.aborted) return;
      const { state, downloadBytes } = store.getModel(id);
      // A load in another tab is joined. Once ready, only a click loads again: the visitor may have deleted
      // the model.
      const wanted = state === 'loading' || (state === 'idle' && (confirmed || downloadBytes === 0));
      if (wanted && !cancelled && !done) void store.load(id);
      done = draw() || done;
      if (done) resolve();
    };
    button.addEventListener('click', () => {
      cancelled = action === 'Cancel';
      confirmed = true;
      void (cancelled ? store.cancel(id) : store.load(id));
      change();
    });
    signal?.addEventListener('abort', () => {
      unsubscribe();
      element.replaceChildren();
      reject(signal.reason as Error);
    });
    unsubscribe = store.subscribe(change);
    change();
  });
}
