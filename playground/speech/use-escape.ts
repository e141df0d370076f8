import { useEffect } from 'preact/hooks';
import { isComposing } from '../components/keys.ts';

/** Handles Escape exclusively while `active`. */
export function useEscape(active: boolean, act: () => void): void {
  useEffect(() => {
    if (!active) return;
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== 'Escape' || isComposing(event)) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      act();
    };
    // Before the listeners of the view.
    addEventListener('keydown', onKey, { capture: true });
    return () => removeEventListener('keydown', onKey, { capture: true });
  }, [active]);
}
