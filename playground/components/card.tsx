import type { HTMLAttributes } from 'preact';
import { useId } from 'preact/hooks';

interface CardProps extends Omit<HTMLAttributes<HTMLElement>, 'class' | 'title'> {
  title: string;
  class?: string;
}

/** A section with a heading. */
export function Card({ title, class: more = '', children, ...others }: CardProps) {
  const id = useId();
  return (
    <section class={`card stack ${more}`} aria-labelledby={id} {...others}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  );
}
