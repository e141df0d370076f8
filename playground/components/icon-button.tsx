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
    // Not `disabled`, which would take the focus from it when a press leaves nothing more to do.
    <button
      type="button"
      class={`icon-button ${small ? 'icon-button-small' : ''}`}
      aria-label={label}
      title={label}
      aria-disabled={disabled}
      aria-expanded={expanded}
      aria-pressed={pressed}
      onClick={disabled ? undefined : onClick}
    >
      <Icon name={icon} />
    </button>
  );
}
