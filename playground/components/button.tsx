import type { ButtonHTMLAttributes, MouseEventHandler } from 'preact';

interface Props extends Omit<ButtonHTMLAttributes, 'disabled' | 'onClick'> {
  look?: 'primary' | 'quiet' | 'danger';
  small?: boolean;
  disabled?: boolean;
  onClick?: MouseEventHandler<HTMLButtonElement>;
}

/** A button that keeps the focus while it is disabled: the attribute `disabled` would take it. */
export function Button({ look, small = false, disabled = false, onClick, ...others }: Props) {
  const classes = ['button', look && `button-${look}`, small && 'button-small'].filter(Boolean);
  return (
    <button
      type="button"
      class={classes.join(' ')}
      {...others}
      aria-disabled={disabled}
      onClick={disabled ? stop : onClick}
    />
  );
}

/** Also keeps Enter in a field from sending the form. */
const stop = (event: Event): void => event.preventDefault();
