import { Icon, type IconName } from './icon.tsx';

interface Props {
  icon: IconName;
  label: string;
  onClick: () => void;
  small?: boolean;
  disabled?: boolean;
  /** Whether the menu or panel that the button controls is open. */
  expanded?: boolean;
  pressed?: boolean;
}

export function IconButton({
  icon,
  label,
  onClick,
  small = false,
  disabled = false,
  expanded,
  pressed,
}: Props) {
  return (
    <button
      type="button"
      class={`icon-button ${small ? 'icon-button-small' : ''}`}
      aria-label={label}
      title={label}
      disabled={disabled}
      aria-expanded={expanded}
      aria-pressed={pressed}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  );
}
