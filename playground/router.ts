import { signal } from '@preact/signals';

export interface Route {
  /** First segment of the hash: `#/models` → `models`. Empty on a bare URL. */
  view: string;
  /** Second segment, such as a conversation's id. */
  id: string | null;
}

export const route = signal<Route>(parse(location.hash));

window.addEventListener('hashchange', () => {
  route.value = parse(location.hash);
});

function parse(hash: string): Route {
  const [view = '', id] = hash.replace(/^#\/?/, '').split('/');
  return { view, id: id ? decoded(id) : null };
}

/** Null for what is no URI component, such as `%`. */
function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

export const href = (view: string, id?: string): string =>
  id === undefined ? `#/${view}` : `#/${view}/${encodeURIComponent(id)}`;

export function navigate(view: string, id?: string): void {
  location.hash = href(view, id);
}

/** Corrects the address without a step in the history. */
export function replaceRoute(view: string, id?: string): void {
  history.replaceState(history.state, '', href(view, id));
  route.value = parse(location.hash);
}
