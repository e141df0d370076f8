import type { ButtonHTMLAttributes } from 'preact';

interface Props extends ButtonHTMLAttributes {
  look?: 'primary' | 'quiet' | 'danger';
  small?: boolean;
}

export function Button({ look, small = false, ...others }: Props) {
  const classes = ['button', look && `button-${look}`, small && 'button-small'].filter(Boolean);
  return <button type="button" class={classes.join(' ')} {...others} />;
}
