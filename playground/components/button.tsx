import type { ButtonHTMLAttributes, MouseEventHandler, Ref } from 'preact';

export interface ButtonProps extends Omit<ButtonHTMLAttributes, 'disabled' | 'onClick'> {
  disabled?: boolean;
  onClick?: MouseEventHandler<HTMLButtonElement> | undefined;
  ref?: Ref<HTMLButtonElement>;
}

/** A button without a look. It keeps the focus while it is disabled: the attribute `disabled` would take it. */
export function PlainButton({ disabled = false, onClick, ...others }: ButtonProps) {
  return <button type="button" {...others} aria-disabled={disabled} onClick={disabled ? stop : onClick} />;
}

/** Also keeps Enter in a field from sending the form. */
const stop = (event: Event): void => event.preventDefault();

interface Props extends ButtonProps {
  look?: 'primary' | 'quiet' | 'danger';
  small?: boolean;
}

export function Button({ look, small = false, ...others }: Props) {
  const classes = ['button', look && `button-${look}`, small && 'button-small'].filter(Boolean);
  return <PlainButton class={classes.join(' ')} {...others} />;
}
