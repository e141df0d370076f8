import { VIEWS } from '../views.tsx';
import { EngineState } from './engine-state.tsx';
import { NavLink } from './nav-link.tsx';
import { ProjectLink } from './project-link.tsx';
import { ThemeButton } from './theme-button.tsx';
import { Wordmark } from './wordmark.tsx';

/** Navigation on a wide screen. */
export function Sidebar() {
  return (
    <header class="sidebar">
      <Wordmark />
      <nav aria-label="Views">
        <ul class="sidebar-links">
          {VIEWS.map((view) => (
            <li key={view.name}>
              <NavLink view={view} />
            </li>
          ))}
        </ul>
      </nav>
      <ProjectLink />
      <div class="sidebar-foot">
        <EngineState />
        <ThemeButton />
      </div>
    </header>
  );
}
