import type { ComponentChildren } from 'preact';

/** Heading of a view, with its purpose. */
export function PageHead({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <header class="page-head">
      <h1>{title}</h1>
      <p>{children}</p>
    </header>
  );
}
