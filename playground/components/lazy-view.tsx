import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';

type State = { component: ComponentType } | { error: string } | null;

/** A view whose code and styles are fetched when it is first shown. */
export function lazyView(load: () => Promise<ComponentType>): ComponentType {
  let loaded: ComponentType | null = null;

  return function LazyView() {
    const [state, setState] = useState<State>(loaded && { component: loaded });
    useEffect(() => {
      if (loaded) return;
      const open = async (): Promise<void> => {
        try {
          loaded = await load();
          setState({ component: loaded });
        } catch (error) {
          setState({ error: String(error) });
        }
      };
      void open();
    }, []);
    if (!state) return <p class="quiet view-loading">Opening…</p>;
    if ('error' in state) {
      return (
        <p role="alert" class="error-text">
          This view could not be opened: {state.error}. Reload the page to try again.
        </p>
      );
    }
    return <state.component />;
  };
}
