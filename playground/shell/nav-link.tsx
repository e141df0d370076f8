import { Icon } from '../components/icon.tsx';
import { href } from '../router.ts';
import { currentView, type View } from '../views.tsx';

export function NavLink({ view, onClick }: { view: View; onClick?: () => void }) {
  const current = currentView.value === view;
  return (
    <a class="nav-link" href={href(view.name)} aria-current={current ? 'page' : undefined} onClick={onClick}>
      <Icon name={view.name} />
      <span>{view.title}</span>
    </a>
  );
}
