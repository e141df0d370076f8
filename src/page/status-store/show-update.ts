import type { LocaltextStore } from './localtext-store.ts';

export interface ShowUpdateOptions {
  /** Ends the display and empties the element when aborted. */
  signal?: AbortSignal;
}

/**
 * Shows in an element that a new build of the site is ready, with a button that switches to it and reloads the
 * page. Empty until then. The elements have no styles: `p` and `button`.
 * @example
 * import { start } from 'localtext';
 * import { createStore, showUpdate } from 'localtext/store';
 * const store = createStore(() => start());
 * showUpdate(store, document.body.appendChild(document.createElement('div')));
 */
export function showUpdate(
  store: LocaltextStore,
  element: Element,
  { signal }: ShowUpdateOptions = {},
): void {
  signal?.throwIfAborted();
  const text = document.createElement('p');
  text.role = 'status';
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Reload';
  let message = 'A new version is ready.';

  const change = (): void => {
    const { status } = store.getState();
    if (!status?.updateWaiting && !status?.buildReplaced) return;
    text.textContent = message;
    if (!element.contains(text)) element.replaceChildren(text, button);
  };
  button.addEventListener('click', () => {
    if (button.ariaDisabled === 'true') return;
    // Not `disabled`, which would take the focus from it.
    button.ariaDisabled = 'true';
    message = 'The new version starts when the running requests end…';
    change();
    store
      .start()
      .then((localtext) => localtext.update())
      .then(() => location.reload())
      .catch((error: unknown) => {
        message = error instanceof Error ? error.message : String(error);
        button.ariaDisabled = 'false';
        change();
      });
  });
  const unsubscribe = store.subscribe(change);
  signal?.addEventListener('abort', () => {
    unsubscribe();
    element.replaceChildren();
  });
  change();
}
