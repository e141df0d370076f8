import { homepage } from '../../package.json';
import { Icon } from '../components/icon.tsx';

/** The project's documentation and code, in another tab: a reply goes on in this one. */
export function ProjectLink({ onClick }: { onClick?: () => void }) {
  return (
    <a class="nav-link project-link" href={homepage} target="_blank" rel="noopener" onClick={onClick}>
      <Icon name="external" />
      <span>Docs and code</span>
    </a>
  );
}
