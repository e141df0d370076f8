import { useRef } from 'preact/hooks';
import { Icon } from '../components/icon.tsx';
import { currentView, VIEWS, type View } from '../views.tsx';
import { NavLink } from './nav-link.tsx';
import { ProjectLink } from './project-link.tsx';

const isPrimary = ({ name }: View): boolean => ['chat', 'compare', 'models', 'requests'].includes(name);

/** Navigation on a narrow screen: four places and a menu with the rest. */
export function TabBar() {
  const menu = useRef<HTMLDivElement>(null);
  const close = (): void => menu.current?.hidePopover();
  const inMenu = !isPrimary(currentView.value);
  return (
    <nav class="tab-bar" aria-label="Views">
      {VIEWS.filter(isPrimary).map((view) => (
        <NavLink key={view.name} view={view} />
      ))}
      <button
        type="button"
        class={`nav-link ${inMenu ? 'holds-current' : ''}`}
        popovertarget="more-views"
        aria-label="More views"
      >
        <Icon name="more" />
        <span>More</span>
      </button>
      <div id="more-views" class="popover more-views" popover="auto" ref={menu}>
        {VIEWS.filter((view) => !isPrimary(view)).map((view) => (
          <NavLink key={view.name} view={view} onClick={close} />
        ))}
        <ProjectLink onClick={close} />
      </div>
    </nav>
  );
}
