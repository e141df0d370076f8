import { homepage } from '../../package.json';
import { Icon } from '../components/icon.tsx';

/** Link to the project's documentation and code. It opens another tab, so that a reply continues in this one. */
export function ProjectLink({ onClick }: { onClick?: () => void }) {
  return (
    <a class="nav-link project-link" href={homepage} target="_blank" rel="noopener" onClick={onClick}>
      <Icon name="external" />
      <span>Docs and code</span>
    </a>
  );
}
