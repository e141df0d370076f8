import { EngineState } from './engine-state.tsx';
import { ThemeButton } from './theme-button.tsx';
import { Wordmark } from './wordmark.tsx';

/** Head of a narrow screen. */
export function TopBar() {
  return (
    <header class="top-bar">
      <Wordmark />
      <EngineState />
      <ThemeButton />
    </header>
  );
}
