import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

/** A section with a heading. */
export function Card({ title, children }: { title: string; children: ComponentChildren }) {
  const id = useId();
  return (
    <section class="card stack" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  );
}
