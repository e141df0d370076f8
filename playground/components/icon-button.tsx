import { PlainButton, type ButtonProps } from './button.tsx';
import { Icon, type IconName } from './icon.tsx';

interface Props extends ButtonProps {
  icon: IconName;
  label: string;
  small?: boolean;
}

export function IconButton({ icon, label, small = false, ...others }: Props) {
  const look = `icon-button ${small ? 'icon-button-small' : ''}`;
  return (
    <PlainButton class={look} aria-label={label} title={label} {...others}>
      <Icon name={icon} />
    </PlainButton>
  );
}
