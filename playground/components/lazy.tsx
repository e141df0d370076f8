import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';

/**
 * A component whose code and styles are fetched when it is first shown.
 * @param Placeholder is shown until then, with the error of a fetch that failed
 */
export function lazy<P extends object>(
  load: () => Promise<ComponentType<P>>,
  Placeholder: ComponentType<P & { error?: string }>,
): ComponentType<P> {
  const state = signal<{ component?: ComponentType<P>; error?: string }>({});
  const open = async (): Promise<void> => {
    try {
      state.value = { component: await load() };
    } catch (error) {
      state.value = { error: String(error) };
    }
  };
  return function Lazy(props: P) {
    const { component: Component, error } = state.value;
    useEffect(() => {
      if (!Component) void open();
    }, []);
    if (Component) return <Component {...props} />;
    return <Placeholder {...props} {...(error !== undefined && { error })} />;
  };
}
